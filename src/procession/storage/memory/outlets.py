"""What holds for a channel's or a tenant's sends as a whole: holds (B4, D9, D10), the line (B5), statuses (D11)."""

from datetime import UTC, datetime, timedelta
from typing import Final

from procession.core.effect import Receipt
from procession.core.event import Sighting
from procession.core.ids import ChannelName, TenantId
from procession.core.limits import HALT_LOOK
from procession.core.pace import Pace, channel_slot, pair_slot
from procession.core.verdict import Deferred, Halted, Scope
from procession.ports.console import HaltView
from procession.storage.memory.rows import FOREVER, EffectRow, LaneRow, OutletRow, Tables, plus

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO: Final = timedelta(microseconds=1)


# --- holds ---


def outlets_of(tables: Tables, effect: EffectRow) -> tuple[OutletRow, OutletRow]:
    """Both that can hold it back: its channel, and its tenant."""
    return tables.outlet(effect.tenant, effect.draft.channel), tables.outlet(effect.tenant, None)


def is_held(outlet: OutletRow, now: datetime) -> bool:
    return outlet.held_from is not None and outlet.held_until > now


def holder(tables: Tables, effect: EffectRow, now: datetime) -> OutletRow | None:
    """What holds the effect back, the longest of several. None: nothing does."""
    held = [outlet for outlet in outlets_of(tables, effect) if is_held(outlet, now)]
    return max(held, key=lambda outlet: outlet.held_until, default=None)


def hold_ends(tables: Tables, effect: EffectRow, now: datetime) -> datetime | None:
    """When a conversation that it holds back is looked at again."""
    held = holder(tables, effect, now)
    if held is None:
        return None
    return now + HALT_LOOK if held.held_until == FOREVER else held.held_until


def hold_back(tables: Tables, effect: EffectRow, verdict: Deferred | Halted, now: datetime) -> None:
    """D9, D10."""
    if verdict.scope is Scope.CONVERSATION:
        return
    outlet = tables.outlet(effect.tenant, None if verdict.scope is Scope.TENANT else effect.draft.channel)
    until = FOREVER if isinstance(verdict, Halted) else plus(now, verdict.after)
    if not is_held(outlet, now):
        outlet.held_from, outlet.held_until = now, now
    if until > outlet.held_until:
        outlet.held_until, outlet.held_reason = until, reason_of(verdict)


def reason_of(verdict: Deferred | Halted) -> str:
    code = verdict.code if isinstance(verdict, Halted) else ""
    return f"{code}: {verdict.reason}" if code else verdict.reason


def end_hold(tables: Tables, tenant: TenantId, channel: ChannelName | None, now: datetime) -> list[OutletRow]:
    """What was held back, and is no more."""
    ended = [
        outlet
        for outlet in tables.outlets.values()
        if outlet.tenant == tenant and channel in (None, outlet.channel) and is_held(outlet, now)
    ]
    for outlet in ended:
        outlet.held_until = now
    return ended


def halt_view(outlet: OutletRow) -> HaltView:
    assert outlet.held_from is not None
    return HaltView(
        tenant=outlet.tenant,
        channel=outlet.channel,
        since=outlet.held_from,
        until=None if outlet.held_until == FOREVER else outlet.held_until,
        reason=outlet.held_reason,
    )


# --- the line ---


def too_early(tables: Tables, row: LaneRow, effect: EffectRow, pace: Pace, now: datetime) -> str | None:
    """B5: it is counted, or told its place. None: it may begin now."""
    if effect.slot_at is not None and not _has_lapsed(tables, effect, effect.slot_at):
        return None if effect.slot_at <= now else "its place in the channel's line has not come"
    outlet = tables.outlet(effect.tenant, effect.draft.channel)
    slot, line = channel_slot(pace, outlet.line, _micros(now))
    pair_at, owes = pair_slot(pace, row.burst, slot)
    if pair_at > slot:
        # Nobody else can take this conversation's place, so it need not be kept; and one in the line would be wasted.
        row.backoff_until = _moment(pair_at)
        return "its conversation has had its share for now"
    outlet.line, row.burst, effect.slot_at = line, owes, _moment(slot)
    return None if effect.slot_at <= now else "its place in the channel's line has not come"


def _has_lapsed(tables: Tables, effect: EffectRow, slot_at: datetime) -> bool:
    """Places that passed while it was held back would all be due at once, when that is over."""
    return any(outlet.held_from is not None and outlet.held_until > slot_at for outlet in outlets_of(tables, effect))


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICRO


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


# --- statuses ---


def show(tables: Tables, sighting: Sighting) -> None:
    """A8: the channel has shown that statuses come."""
    if sighting.failed or sighting.receipt >= Receipt.SENT:
        tables.outlet(sighting.tenant, sighting.channel).shown = True


def confirm_at(tables: Tables, effect: EffectRow, now: datetime) -> None:
    """The gate counts from here, and (D11) is as long as is known now."""
    effect.confirmed_at = now
    effect.unseen = not tables.outlet(effect.tenant, effect.draft.channel).shown
