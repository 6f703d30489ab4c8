"""What becomes of an effect whose attempt ended without a clear answer, and when its doubt has lasted long enough."""

from datetime import datetime, timedelta

from procession.core.effect import DoubtPolicy, EffectMove, EffectState, Repeatability, moved
from procession.storage.memory.rows import EffectRow, LaneRow, plus


def become_uncertain(effect: EffectRow, reason: str, after: timedelta, now: datetime) -> None:
    """D5: a provider that drops repeats is sent the same key again; anything else is in doubt."""
    terms = effect.draft.terms
    effect.reason, effect.changed_at = reason, now
    if terms.repeatability is Repeatability.KEYED and effect.tries < terms.tries_max:
        effect.state, effect.not_before = moved(effect.state, EffectMove.RESEND), now + after
        effect.unproven = True
        return
    effect.state = moved(effect.state, EffectMove.DOUBT)
    effect.doubt_until = effect.doubt_until or plus(now, terms.doubt_wait)
    effect.not_before = now + after if terms.repeatability is Repeatability.PROBED else None


def give_back(effect: EffectRow, reason: str, now: datetime) -> None:
    """S2 and R2: the sender of an armed effect is gone. Its bytes may be on the way still."""
    become_uncertain(effect, reason, timedelta(0), now)


def doubt_is_over(effect: EffectRow, now: datetime) -> DoubtPolicy:
    """S5: the tenant's policy, applied. A conversation is parked for it once it is the head (`park_for_doubt`)."""
    policy = effect.draft.terms.doubt
    if policy is DoubtPolicy.RESEND and effect.resends >= effect.draft.terms.resends_max:
        policy = DoubtPolicy.PARK
    effect.doubt_until, effect.not_before, effect.changed_at = None, None, now
    match policy:
        case DoubtPolicy.PARK:
            effect.doubt_parked = True
        case DoubtPolicy.RESEND:
            effect.state = moved(effect.state, EffectMove.RESEND)
            effect.resends += 1
            effect.unproven = False
        case DoubtPolicy.SKIP:
            effect.state = moved(effect.state, EffectMove.SKIP)
    return policy


def park_for_doubt(row: LaneRow, head: EffectRow) -> None:
    """Of several doubts the head's is what a conversation waits for: when that is resolved, the next one's."""
    if head.state is EffectState.DOUBT and head.doubt_until is None and row.parked is None:
        row.parked, row.parked_for = f"effect {head.draft.id} is in doubt: {head.reason}", head.draft.id


def end_unsent(effect: EffectRow, reason: str, now: datetime) -> None:
    """It is not to be sent (any more). D8: unless an earlier attempt of it may have been taken, which is a doubt."""
    effect.changed_at = now
    if effect.unproven:
        effect.state = moved(effect.state, EffectMove.DOUBT)
        effect.reason = f"{reason}; but an earlier try may have been taken"
        effect.doubt_until, effect.not_before = plus(now, effect.draft.terms.doubt_wait), None
    else:
        effect.state, effect.reason = moved(effect.state, EffectMove.REFUSE), reason
