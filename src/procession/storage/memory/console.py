"""The operator's side of the reference store."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from procession.core.effect import ENDED, EffectMove, EffectState, Receipt, moved
from procession.core.errors import BadRequest
from procession.core.event import EventState, Intake
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, QuarantineId, TenantId
from procession.core.lane import LaneMove, PauseDraft, Phase, Side
from procession.ports.console import (
    AsideView,
    AuditRow,
    Counts,
    EffectView,
    EventView,
    HaltView,
    LaneView,
    QuarantineView,
)
from procession.storage.memory.accept import accept
from procession.storage.memory.claim import end_try
from procession.storage.memory.hearing import pause_both
from procession.storage.memory.merge import move_replay
from procession.storage.memory.outlets import confirm_at, end_hold, halt_view, is_held
from procession.storage.memory.rest import climb, end_pause, rest, unplayed
from procession.storage.memory.rows import EffectRow, EventRow, LaneRow, Tables, TurnRow, plus
from procession.storage.memory.settle import cancel, pass_turn
from procession.storage.memory.views import aside_view, effect_view, event_view, is_shown, lane_view


class MemoryConsole:
    def __init__(self, tables: Tables, now: Callable[[], datetime]) -> None:
        self._tables = tables
        self._now = now

    # --- reading ---

    async def counts(self, tenant: TenantId | None = None) -> Counts:
        tables = self._tables
        events = [event for event in tables.events.values() if tenant in (None, event.new.tenant)]
        effects = [effect for effect in tables.effects.values() if tenant in (None, effect.tenant)]
        lanes = [row for row in tables.lanes.values() if tenant in (None, row.tenant)]
        states = [event.state for event in events]
        sent = [effect.state for effect in effects]
        gone = Counter[str]()
        for (own, name), count in tables.forgotten.items():
            gone[name] += count if tenant in (None, own) else 0
        return Counts(
            accepted=len(events) + gone["accepted"],
            waiting=states.count(EventState.WAITING),
            held=states.count(EventState.HELD),
            done=states.count(EventState.DONE) + gone["done"],
            set_aside=states.count(EventState.SET_ASIDE),
            dropped=states.count(EventState.DROPPED) + gone["dropped"],
            quarantined=len(tables.quarantine) if tenant is None else 0,
            lanes=sum(1 for row in lanes if row.side is Side.TURNS),
            lanes_parked=sum(1 for row in lanes if row.parked is not None),
            lanes_paused=sum(1 for row in lanes if row.paused and row.side is Side.TURNS),
            effects_pending=sent.count(EffectState.PENDING),
            effects_confirmed=sent.count(EffectState.CONFIRMED) + gone["effects_confirmed"],
            effects_refused=sent.count(EffectState.REFUSED) + gone["effects_refused"],
            effects_in_doubt=sent.count(EffectState.DOUBT),
            effects_resent=sum(effect.resends for effect in effects) + gone["effects_resent"],
            effects_skipped=sent.count(EffectState.SKIPPED) + gone["effects_skipped"],
            gates_expired=sum(1 for effect in effects if effect.gate_expired) + gone["gates_expired"],
            duplicates=sum(count for own, count in tables.duplicates.items() if tenant in (None, own)),
        )

    async def why(self, what: str, tenant: TenantId | None = None) -> tuple[EventView, ...]:
        tables = self._tables
        turns = {
            (effect.tenant, effect.turn) for effect in tables.effects.values() if what in (effect.draft.id, effect.ref)
        }
        found = [
            event
            for key, event in tables.events.items()
            if what in (event.new.id, event.new.provider_id) or key in turns
        ]
        return tuple(event_view(tables, event) for event in found if tenant in (None, event.new.tenant))

    async def lanes(
        self, tenant: TenantId | None = None, phase: Phase | None = None, side: Side | None = None, limit: int = 50
    ) -> tuple[LaneView, ...]:
        rows = [
            row for row in self._tables.lanes.values() if tenant in (None, row.tenant) and is_shown(row, phase, side)
        ]
        views = [lane_view(self._tables, row) for row in rows]
        views.sort(key=lambda view: (view.oldest_at is None, view.oldest_at or self._now(), view.tenant, view.lane))
        return tuple(views[:limit])

    async def lane(self, tenant: TenantId, lane: str) -> tuple[tuple[LaneView, ...], tuple[EventView, ...]]:
        rows = [row for row in self._tables.lanes.values() if row.tenant == tenant and lane in (row.lane, row.key)]
        events = [event for row in rows if row.side is Side.TURNS for event in unplayed(self._tables, row)]
        rows.sort(key=lambda row: (row.lane, row.side == Side.SENDS))
        return (
            tuple(lane_view(self._tables, row) for row in rows),
            tuple(event_view(self._tables, event) for event in events),
        )

    async def asides(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AsideView, ...]:
        found = [
            aside_view(self._tables, event, with_payload=False)
            for event in self._tables.events.values()
            if event.state is EventState.SET_ASIDE and tenant in (None, event.new.tenant)
        ]
        return tuple(sorted(found, key=lambda view: (view.at, view.seq), reverse=True)[:limit])

    async def aside_show(self, tenant: TenantId, event: EventId, *, actor: str) -> AsideView:
        row = self._aside(tenant, event)
        if row is None:
            raise BadRequest(f"no set-aside event {event} of tenant {tenant}: `procession aside list` shows them")
        self._audit(actor, tenant, "aside show", event)
        return aside_view(self._tables, row, with_payload=True)

    async def quarantine(self, limit: int = 50) -> tuple[QuarantineView, ...]:
        newest = sorted(self._tables.quarantine, key=lambda key: self._tables.quarantine[key][0], reverse=True)
        return tuple(self._quarantined(key, with_body=False) for key in newest[:limit])

    async def quarantine_show(self, kept: QuarantineId, *, actor: str) -> QuarantineView:
        if kept not in self._tables.quarantine:
            raise BadRequest(f"nothing in quarantine is called {kept}: `procession quarantine list` shows what is")
        self._audit(actor, None, "quarantine show", kept)
        return self._quarantined(kept, with_body=True)

    async def doubts(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[EffectView, ...]:
        found = [
            effect
            for effect in self._tables.effects.values()
            if effect.state is EffectState.DOUBT and tenant in (None, effect.tenant)
        ]
        found.sort(key=lambda effect: effect.changed_at)
        return tuple(effect_view(self._tables, effect) for effect in found[:limit])

    async def halts(self, tenant: TenantId | None = None) -> tuple[HaltView, ...]:
        outlets, now = self._tables.outlets.values(), self._now()
        found = [halt_view(outlet) for outlet in outlets if tenant in (None, outlet.tenant) and is_held(outlet, now)]
        return tuple(sorted(found, key=lambda view: (view.since, view.tenant, view.channel or "")))

    async def shown(self, tenant: TenantId | None = None) -> frozenset[tuple[TenantId, ChannelName]]:
        outlets = self._tables.outlets.values()
        return frozenset(
            (outlet.tenant, outlet.channel)
            for outlet in outlets
            if outlet.shown and outlet.channel is not None and tenant in (None, outlet.tenant)
        )

    async def audit(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AuditRow, ...]:
        rows = [row for row in self._tables.audit if tenant in (None, row.tenant)]
        return tuple(reversed(rows[-limit:]))

    # --- the operator's hand ---

    async def pause(
        self,
        tenant: TenantId,
        lane: LaneId,
        duration: timedelta | None,
        *,
        actor: str,
        keep_effects: bool = False,
        reason: str = "",
    ) -> bool:
        turns, now = self._tables.heir(self._lane(tenant, lane)), self._now()
        until = plus(now, duration)
        if turns.paused and turns.paused_until == until and turns.pause_keep == keep_effects:
            return False
        pause_both(self._tables, turns, PauseDraft(duration=duration, keep_effects=keep_effects, reason=reason), now)
        self._audit(actor, tenant, "lane pause", lane, reason)
        return True

    async def resume(self, tenant: TenantId, lane: LaneId, *, actor: str) -> bool:
        turns, now = self._lane(tenant, lane), self._now()
        sends = self._tables.lanes.get((tenant, lane, Side.SENDS))
        sides = [turns] if sends is None else [turns, sends]
        changed = [self._resume(row, now) for side in sides for row in self._tables.family(side)]
        if any(changed):
            self._audit(actor, tenant, "lane resume", lane)
        return any(changed)

    def _resume(self, row: LaneRow, now: datetime) -> bool:
        freed = row.parked is not None and row.parked_for is None
        if not freed and not row.paused:
            return False
        if row.paused:
            end_pause(self._tables, row, now)
        if freed:
            row.parked, row.backoff_until = None, None
            row.tries = row.deaths = row.deaths_alone = 0
        if row.phase is not Phase.HELD:
            rest(self._tables, row, LaneMove.RESUME, now)
        return True

    async def skip(
        self, tenant: TenantId, lane: LaneId, *, actor: str, side: Side = Side.TURNS
    ) -> EventId | EffectId | None:
        named, now = self._tables.lanes.get((tenant, lane, side)), self._now()
        if named is None:
            raise BadRequest(f"tenant {tenant} has no lane {lane}: `procession lanes` shows the lanes")
        # What has to come to its end first: a lane that is merged has nothing else.
        row = next(each for each in self._tables.family(named) if each.merged_into is None or self._is_open(each))
        if row.phase is Phase.HELD:
            raise BadRequest(f"lane {row.lane} is being played right now: pause it first, then skip")
        skipped = self._skip_turn(row, now) if side is Side.TURNS else self._skip_effect(row, now)
        if skipped is not None:
            self._audit(actor, tenant, "lane skip", lane, skipped)
        return skipped

    def _is_open(self, row: LaneRow) -> bool:
        return bool(row.frozen) if row.side is Side.TURNS else self._tables.head_effect(row) is not None

    def _skip_turn(self, row: LaneRow, now: datetime) -> EventId | None:
        waiting = unplayed(self._tables, row)
        if not waiting:
            return None
        if not row.frozen:
            from_replay = bool(row.replays)
            head = waiting[0]
            row.frozen = (head.new.id,)
            row.replays = row.replays[1:] if from_replay else row.replays
        self._tables.turns.setdefault((row.tenant, row.frozen[0]), _untried(row, now))
        head_id = row.frozen[0]
        for event_id in row.frozen:
            self._tables.events[row.tenant, event_id].turn = head_id
        row.parked = None
        pass_turn(self._tables, row, EventState.SKIPPED, "skipped by an operator", now)
        rest(self._tables, row, LaneMove.SKIP, now)
        return head_id

    def _skip_effect(self, row: LaneRow, now: datetime) -> EffectId | None:
        head = self._tables.head_effect(row)
        if head is None or head.state in ENDED:
            return None
        head.state, head.changed_at = moved(head.state, EffectMove.SKIP), now
        head.reason, head.doubt_until = "skipped by an operator", None
        row.parked, row.parked_for = None, None
        rest(self._tables, row, LaneMove.SKIP, now)
        return head.draft.id

    async def replay(self, tenant: TenantId, event: EventId, *, actor: str) -> bool:
        found, now = self._aside(tenant, event), self._now()
        if found is None:
            return False
        row = self._tables.lanes[tenant, found.new.lane, Side.TURNS]
        found.state, found.ended_at, found.reason, found.turn = EventState.WAITING, None, "", None
        heir = self._tables.heir(row)
        if heir is not row:
            move_replay(self._tables, found, heir, now)
        else:
            row.replays.append(event)
            row.replays.sort(key=lambda own: self._tables.events[tenant, own].seq or 0)
        if heir.phase is not Phase.HELD:
            rest(self._tables, heir, LaneMove.RESUME, now)
        self._audit(actor, tenant, "aside replay", event)
        return True

    async def aside_drop(self, tenant: TenantId, event: EventId, *, actor: str) -> bool:
        found = self._aside(tenant, event)
        if found is None:
            return False
        found.state, found.reason = EventState.SKIPPED, f"dropped by an operator; {found.reason}"
        self._audit(actor, tenant, "aside drop", event)
        return True

    async def quarantine_drop(self, kept: QuarantineId, *, actor: str) -> bool:
        if self._tables.quarantine.pop(kept, None) is None:
            return False
        self._audit(actor, None, "quarantine drop", kept)
        return True

    async def quarantine_routed(self, kept: QuarantineId, intake: Intake, *, actor: str) -> bool:
        if self._tables.quarantine.pop(kept, None) is None:
            return False
        accept(self._tables, intake, self._now())
        self._audit(actor, None, "quarantine route", kept)
        return True

    async def resolve(self, tenant: TenantId, effect: EffectId, how: str, *, actor: str) -> bool:
        moves = {"sent": EffectMove.CONFIRM, "resend": EffectMove.RESEND, "skip": EffectMove.SKIP}
        if how not in moves:
            raise BadRequest(f"a doubt is resolved as sent, resend or skip, not as {how!r}")
        found, now = self._effect(tenant, effect), self._now()
        if found.state is not EffectState.DOUBT:
            return False
        row = self._tables.lanes[tenant, found.draft.lane, Side.SENDS]
        if row.phase is Phase.HELD:
            raise BadRequest(f"effect {effect} is being probed right now: try again in a moment")
        self._resolve(row, found, moves[how], now)
        self._audit(actor, tenant, "doubt resolve", effect, how)
        return True

    def _resolve(self, row: LaneRow, effect: EffectRow, move: EffectMove, now: datetime) -> None:
        effect.state, effect.changed_at = moved(effect.state, move), now
        effect.doubt_until, effect.not_before = None, None
        effect.reason = "resolved by an operator"
        if move is EffectMove.CONFIRM:
            # An operator who says `sent` says that the provider has taken it; how far it got is still to be seen.
            confirm_at(self._tables, effect, now)
            climb(effect, Receipt.ACCEPTED, failed=False)
        if move is EffectMove.RESEND:
            effect.resends += 1
            effect.unproven = False
        if row.parked_for == effect.draft.id:
            row.parked, row.parked_for = None, None
        rest(self._tables, row, LaneMove.RESOLVE, now)

    async def release(self, tenant: TenantId, channel: ChannelName | None = None, *, actor: str) -> bool:
        tables, now = self._tables, self._now()
        ended = end_hold(tables, tenant, channel, now)
        if not ended:
            return False
        for row in tables.lanes.values():
            head = tables.head_effect(row) if row.side is Side.SENDS and row.phase is Phase.WAITING else None
            mine = row.tenant == tenant and channel in (None, row.channel)
            if mine and head is not None and head.state is EffectState.PENDING:
                rest(tables, row, LaneMove.RESOLVE, now)
        reasons = "; ".join(dict.fromkeys(outlet.held_reason for outlet in ended))
        self._audit(actor, tenant, "sending release", channel or "all channels", reasons)
        return True

    async def cancel(self, tenant: TenantId, effect: EffectId, *, actor: str) -> bool:
        found, now = self._effect(tenant, effect), self._now()
        if found.state is not EffectState.PENDING or found.unproven:
            return False
        cancel(self._tables, found, "cancelled by an operator", now)
        self._audit(actor, tenant, "effect cancel", effect)
        return True

    async def sending(self, *, paused: bool, actor: str) -> bool:
        if self._tables.sending_paused == paused:
            return False
        self._tables.sending_paused = paused
        self._audit(actor, None, "sending", "paused" if paused else "resumed")
        return True

    async def new_era(self, *, actor: str, reason: str) -> int:
        tables, now = self._tables, self._now()
        tables.era += 1
        tables.sending_paused = True
        for effect in tables.effects.values():
            if effect.state in (EffectState.PENDING, EffectState.ARMED):
                effect.state, effect.changed_at = moved(effect.state, EffectMove.DOUBT), now
                effect.doubt_until, effect.reason = plus(now, effect.draft.terms.doubt_wait), "a new era began"
        for row in tables.lanes.values():
            if row.phase is Phase.HELD:
                if row.side is Side.TURNS:
                    end_try(tables, row, "released", "a new era began", now)
                    row.tries -= 1
                rest(tables, row, LaneMove.RELEASE, now)
            elif row.side is Side.SENDS and row.phase is not Phase.IDLE:
                rest(tables, row, LaneMove.RESOLVE, now)
        self._audit(actor, None, "era", str(tables.era), reason)
        return tables.era

    # --- finding ---

    def _lane(self, tenant: TenantId, lane: LaneId) -> LaneRow:
        row = self._tables.lanes.get((tenant, lane, Side.TURNS)) or self._tables.lanes.get((tenant, lane, Side.SENDS))
        if row is None:
            raise BadRequest(f"tenant {tenant} has no lane {lane}: `procession lanes` shows the lanes")
        return self._tables.lane(tenant, lane, Side.TURNS, row.key, row.channel)

    def _aside(self, tenant: TenantId, event: EventId) -> EventRow | None:
        found = self._tables.events.get((tenant, event))
        return found if found is not None and found.state is EventState.SET_ASIDE else None

    def _effect(self, tenant: TenantId, effect: EffectId) -> EffectRow:
        found = self._tables.effects.get((tenant, effect))
        if found is None:
            raise BadRequest(f"tenant {tenant} has no effect {effect}")
        return found

    def _quarantined(self, kept: QuarantineId, *, with_body: bool) -> QuarantineView:
        at, body = self._tables.quarantine[kept]
        return QuarantineView(
            id=kept,
            endpoint=body.endpoint,
            at=at,
            reason=body.reason,
            body_bytes=len(body.body),
            body=body.body if with_body else None,
            headers=body.headers if with_body else (),
        )

    def _audit(self, actor: str, tenant: TenantId | None, verb: str, about: str, detail: str = "") -> None:
        self._tables.audit.append(
            AuditRow(at=self._now(), actor=actor, tenant=tenant, verb=verb, about=about, detail=detail)
        )


def _untried(row: LaneRow, now: datetime) -> TurnRow:
    return TurnRow(events=row.frozen, first_try_at=now)
