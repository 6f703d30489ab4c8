"""What something waits for, in words: the same words from every store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from procession.core.effect import EffectState, Receipt
from procession.core.lane import Phase
from procession.core.moments import NO_END, clock_words
from procession.ports.console import HaltView

_MERGE: Final = "the end of what is open in a lane that was merged into its own"


def event_waits(
    *,
    ahead: int,
    phase: Phase,
    wake_at: datetime | None,
    worker: str,
    reason: str,
    deaths: int,
    merging: bool = False,
) -> str:
    """For an event that has its place and has not ended; `ahead` others of its lane are played before it. `merging`:
    core.lane.RestingFacts.
    """
    if ahead:
        return f"its turn, behind {ahead} other{'s' if ahead > 1 else ''} of its lane"
    match phase:
        case Phase.HELD:
            return f"its handler, in process {worker}"
        case Phase.READY:
            return "a run alone, since its process died with it before" if deaths else "a free slot"
        case Phase.WAITING if merging:
            return _MERGE
        case Phase.WAITING:
            return f"its next try, or the end of its window, at {clock_words(wake_at)}"
        case Phase.PAUSED:
            return f"the end of the lane's pause: {clock_words(wake_at)}"
        case Phase.PARKED:
            return f"an operator: {reason}"
        case Phase.IDLE:
            return ""


def effect_waits(
    *,
    ahead: int,
    state: EffectState,
    phase: Phase,
    wake_at: datetime | None,
    doubt_until: datetime | None,
    gate: tuple[int, Receipt] | None,
    reason: str,
    holds: Sequence[HaltView] = (),
    place_at: datetime | None = None,
    pair_at: datetime | None = None,
    merging: bool = False,
) -> str:
    """For an effect that has not ended. `gate`: the place and receipt that the conversation's head waits for. `holds`:
    what holds its channel and its tenant back, or did; `place_at`: its place in the channel's line; `pair_at`: when its
    conversation has paid for its burst; `merging`: core.lane.RestingFacts.
    """
    if phase is Phase.PARKED:
        return f"an operator: {reason}"
    if merging and phase is Phase.WAITING and ahead == 0:
        return _MERGE
    if gate is not None:
        return f"the gate of #{gate[0]} ({gate[1].name.lower()}), at most until {clock_words(wake_at)}"
    if ahead > 0:
        return f"its turn, behind {ahead} other{'s' if ahead > 1 else ''} of its conversation"
    if state is EffectState.ARMED:
        return "the provider's answer"
    if state is EffectState.DOUBT:
        return f"proof, until {clock_words(doubt_until)}"
    match phase:
        case Phase.WAITING:
            return _waits_for_its_turn(wake_at, holds, place_at, pair_at)
        case Phase.PAUSED:
            return f"the end of the conversation's pause: {clock_words(wake_at)}"
        case _:
            return "a free slot"


def _waits_for_its_turn(
    wake_at: datetime | None, holds: Sequence[HaltView], place_at: datetime | None, pair_at: datetime | None
) -> str:
    """For a head that may not be begun yet."""
    # One that is over, or was released, ends before the moment that is waited for.
    there = [hold for hold in holds if hold.until is None or (wake_at is not None and hold.until >= wake_at)]
    if there:
        hold = max(there, key=lambda hold: NO_END if hold.until is None else hold.until)
        whose = "account" if hold.channel is None else "channel"
        if hold.until is None:
            return f"an operator, since the {whose} is halted: {hold.reason}"
        return f"its {whose}, which is held back until {clock_words(hold.until)}: {hold.reason}"
    if place_at is not None and place_at == wake_at:
        return f"its place in the channel's line, at {clock_words(place_at)}"
    if pair_at is not None and pair_at == wake_at:
        return f"the pace of its conversation, until {clock_words(pair_at)}"
    return f"its next try at {clock_words(wake_at)}"
