"""What a declaration accepts with a doubt policy: somebody decides about other people there, so it is said there."""

from collections.abc import Iterator, Mapping
from typing import Final

from procession.core.effect import DoubtPolicy
from procession.ports.directory import Change, Snapshot

COSTS: Final[Mapping[str, str]] = {
    DoubtPolicy.RESEND: "when its answer is lost it is sent again, and the person may get it twice",
    DoubtPolicy.SKIP: "when its answer is lost it counts as not sent, and the person may have missed it",
}


def costs_of(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """Of what is new or changed only: the same file again has nothing to say."""
    for key, channel in sorted(after.channels.items()):
        policy, there = channel.settings.get("doubt_policy"), before.channels.get(key)
        was = None if there is None else there.settings.get("doubt_policy")
        if policy != was and str(policy) in COSTS:
            detail = f"doubt_policy = {policy}: {COSTS[str(policy)]}"
            yield Change(sign="!", what=f"channel {channel.tenant}/{channel.name}", detail=detail)
