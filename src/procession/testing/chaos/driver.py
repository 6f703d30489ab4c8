"""`procession selftest chaos`: a campaign on this machine, in a folder of its own, with progress and a verdict."""

import asyncio
import sys
import tempfile
from pathlib import Path

import msgspec

from procession.core.errors import Misconfigured
from procession.ports.clock import Clock
from procession.testing.chaos.campaign import Campaign, Result, Show
from procession.testing.powercut import PowercutUnavailable, build_shim

_FINDINGS_SHOWN = 20


def main(*, store: str, kills: int, powercuts: int, seed: int, as_json: bool, clock: Clock) -> int:
    if powercuts:
        try:
            build_shim()
        except PowercutUnavailable as missing:
            raise Misconfigured(str(missing)) from None
    with tempfile.TemporaryDirectory(prefix="procession-chaos-") as folder:
        campaign = Campaign(
            Path(folder),
            kills=kills,
            powercuts=powercuts,
            seed=seed,
            clock=clock,
            show=_show_on(terminal=sys.stderr.isatty()),
        )
        result = asyncio.run(campaign.run())
    report = {"store": store, "seed": seed, **report_of(result)}
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=0 if as_json else 2).decode() + "\n")
    for finding in result.findings[:_FINDINGS_SHOWN]:
        sys.stderr.write(f"{finding.rule}: {finding.why}\n")
    return 1 if result.findings else 0


def report_of(result: Result) -> dict[str, object]:
    tally = result.tally
    slowest = max(tally.recoveries, default=0.0)
    return {
        **result.verdict.counts(),
        "torn": len(result.torn),
        "kills": tally.kills,
        "kills_with_turns_in_flight": tally.kills_with_turns_in_flight,
        "kills_with_effects_armed": tally.kills_with_effects_armed,
        "kills_in_recovery": tally.kills_in_recovery,
        "kills_between": dict(sorted(tally.kills_between.items())),
        "powercuts": tally.powercuts,
        "powercuts_that_lost_bytes": tally.powercuts_that_lost_bytes,
        "pauses": tally.stops,
        "drains": tally.drains,
        "slowest_return_to_service_s": round(slowest, 2),
        "sent_again_under_its_key": result.sent_again_under_its_key,
    }


def _show_on(*, terminal: bool) -> Show:
    def show(what: str, done: int, of: int) -> None:
        if terminal:
            sys.stderr.write(f"\r{what}: {done} of {of}        ")
            sys.stderr.flush()

    return show
