"""What an operator should look at: the findings of `procession doctor` that the store and the engine can tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from procession.app.silent import silent_channels
from procession.core.errors import Misconfigured
from procession.core.lane import Phase
from procession.core.moments import clock_words
from procession.ports.connector import Outbound
from procession.ports.console import Console, HaltView
from procession.ports.directory import Directory
from procession.ports.vault import Rotation

CLOCK_AHEAD_MAX: Final = timedelta(seconds=5)
"""Less is the ordinary work of time synchronisation."""
_NAMED_MAX: Final = 5


class Grade(StrEnum):
    GOOD = "good"
    LOOK = "look"
    """Nothing is broken; somebody has to decide something."""
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    about: str
    grade: Grade
    text: str


async def findings(console: Console, directory: Directory, connectors: Mapping[str, Outbound]) -> tuple[Finding, ...]:
    counts, snapshot = await console.counts(), await directory.snapshot()
    parked = await console.lanes(phase=Phase.PARKED, limit=5)
    found = [
        Finding(
            about="directory",
            grade=Grade.GOOD if snapshot.endpoints else Grade.LOOK,
            text=f"version {snapshot.version}: {len(snapshot.tenants)} tenants, {len(snapshot.endpoints)} endpoints, "
            f"{len(snapshot.channels)} channels"
            + ("" if snapshot.endpoints else "; nothing can come in before `procession apply -f FILE`"),
        )
    ]
    found.append(Finding(about="leases", grade=Grade.GOOD, text=f"{counts.held} held"))
    names = ", ".join(f"{view.tenant}: {view.lane_key}" for view in parked)
    found.append(_wanting("parked lanes", counts.lanes_parked, f"`procession lane show KEY`, then resume: {names}"))
    found.append(_held_back(await console.halts()))
    silent = await silent_channels(console, snapshot, connectors)
    found.append(_no_statuses(silent, has_sent=counts.effects_confirmed > 0))
    found.append(_wanting("sends in doubt", counts.effects_in_doubt, "`procession doubt list`"))
    found.append(_wanting("set-aside events", counts.set_aside, "`procession aside list` (dead letters)"))
    found.append(_wanting("quarantine", counts.quarantined, "`procession quarantine list`"))
    return tuple(found)


def _wanting(about: str, amount: int, what_to_do: str) -> Finding:
    if not amount:
        return Finding(about=about, grade=Grade.GOOD, text="none")
    return Finding(about=about, grade=Grade.LOOK, text=f"{amount}: {what_to_do}")


def _held_back(halts: Sequence[HaltView]) -> Finding:
    if not halts:
        return Finding(about="sends held back", grade=Grade.GOOD, text="none")
    named = "; ".join(
        f"{_of_whom(halt)} since {clock_words(halt.since)} ({halt.reason})" for halt in halts[:_NAMED_MAX]
    )
    if all(halt.until is not None for halt in halts):
        text = f"{len(halts)}, for a while: {named}"
    else:
        text = (
            f"{len(halts)}: {named}: replace the credential with `procession apply`, or `procession sending release "
            "TENANT` when the provider has let it go; `procession sending show` names all"
        )
    return Finding(about="sends held back", grade=Grade.LOOK, text=text)


def _no_statuses(silent: Mapping[str, timedelta], *, has_sent: bool) -> Finding:
    if not silent:
        return Finding(about="statuses", grade=Grade.GOOD, text="come, wherever a channel waits for them")
    named = ", ".join([*silent][:_NAMED_MAX])
    wait = max(silent.values()).total_seconds()
    text = (
        f"none yet of {len(silent)} channels: {named}: until the first one the next send goes {wait:g} s after the one "
        "before was accepted, and no doubt is proven; are statuses delivered here (WhatsApp: the field `messages`)?"
    )
    return Finding(about="statuses", grade=Grade.LOOK if has_sent else Grade.GOOD, text=text)


def _of_whom(halt: HaltView) -> str:
    return f"{halt.tenant}" if halt.channel is None else f"{halt.tenant}/{halt.channel}"


def integrity_finding(faults: tuple[str, ...]) -> Finding:
    """`faults`: what the database's own check found."""
    if faults:
        return Finding(about="integrity", grade=Grade.BAD, text=f"quick_check: {'; '.join(faults)}: restore a backup")
    return Finding(about="integrity", grade=Grade.GOOD, text="quick_check finds nothing")


def clock_finding(ahead: timedelta) -> Finding:
    """`ahead`: of the store's clock, which never goes backwards, against the machine's."""
    if ahead > CLOCK_AHEAD_MAX:
        late = f"{ahead.total_seconds():.0f} s"
        text = f"the store's clock is {late} ahead: was the machine's set back? Waits are as much longer"
        return Finding(about="clock", grade=Grade.LOOK, text=text)
    return Finding(about="clock", grade=Grade.GOOD, text="the store's clock is not ahead of the machine's")


async def keys_finding(vault: Rotation) -> Finding:
    try:
        look = await vault.look()
    except Misconfigured as error:
        return Finding(about="secrets", grade=Grade.BAD, text=str(error))
    if look.keys_shut:
        text = f"{look.keys_shut} of {look.keys} data keys were wrapped by a master key that is not known here"
        return Finding(about="secrets", grade=Grade.BAD, text=f"{text}: put it into PROCESSION_MASTER_KEY_OLD")
    wanting = [
        (look.keys_behind, "data keys wrapped by an older master key", "procession secret rotate --master"),
        (look.secrets_behind, "secrets sealed under an older data key", "procession secret rotate"),
    ]
    said = [f"{amount} {what}: `{command}`" for amount, what, command in wanting if amount]
    if said:
        return Finding(about="secrets", grade=Grade.LOOK, text="; ".join(said))
    return Finding(about="secrets", grade=Grade.GOOD, text=f"all under the newest of {look.keys} data keys")
