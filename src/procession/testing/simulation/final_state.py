"""What a store holds in the end, read row by row: beside its own operations, and by nothing that it has in memory."""

from dataclasses import dataclass

from procession.core.ids import EffectId, EventId, LaneId, TenantId
from procession.storage.memory.rows import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEvent:
    tenant: TenantId
    channel: str
    id: EventId
    provider_id: str
    lane: LaneId
    kind: str
    seq: int | None
    state: str
    """waiting, held, done, set_aside, dropped, skipped."""
    late: bool
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalEffect:
    tenant: TenantId
    id: EffectId
    lane: LaneId
    turn: str
    oseq: int
    state: str
    resends: int
    receipt: int
    failed: bool
    doubt_until_known: bool
    """In doubt, and its policy not applied yet."""
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalLane:
    tenant: TenantId
    lane: LaneId
    side: str
    phase: str
    last: int
    cursor: int
    worker: str
    epoch: int
    parked: str
    state: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    events: list[FinalEvent]
    effects: list[FinalEffect]
    lanes: list[FinalLane]
    quarantined: list[bytes]
    """Their bodies."""
    reminders: int
    """Not due yet."""
    audited: dict[str, int]
    """Audit rows, by verb."""
    era: int
    sending_paused: bool

    @property
    def waits(self) -> list[str]:
        """What is not at its end yet, in words; nothing, in a world that is at rest."""
        found = [f"event {event.id} is {event.state}" for event in self.events if event.state in ("waiting", "held")]
        found += [
            f"effect {effect.id} is {effect.state}"
            for effect in self.effects
            if effect.state in ("pending", "armed", "doubt")
        ]
        found += [f"{lane.side} of lane {lane.lane} is {lane.phase}" for lane in self.lanes if lane.phase != "idle"]
        return [*found, f"{self.reminders} reminders are to come"] if self.reminders else found


def state_of_tables(tables: Tables) -> FinalState:
    """Of the reference store."""
    audited: dict[str, int] = {}
    for row in tables.audit:
        audited[row.verb] = audited.get(row.verb, 0) + 1
    return FinalState(
        events=[
            FinalEvent(
                tenant=event.new.tenant,
                channel=event.new.channel,
                id=event.new.id,
                provider_id=event.new.provider_id,
                lane=event.new.lane,
                kind=event.new.kind,
                seq=event.seq,
                state=event.state.value,
                late=event.late,
                payload=event.new.payload,
            )
            for event in tables.events.values()
        ],
        effects=[
            FinalEffect(
                tenant=effect.tenant,
                id=effect.draft.id,
                lane=effect.draft.lane,
                turn=effect.turn,
                oseq=effect.oseq,
                state=effect.state.value,
                resends=effect.resends,
                receipt=int(effect.receipt),
                failed=effect.failed,
                doubt_until_known=effect.doubt_until is not None,
                payload=effect.draft.payload,
            )
            for effect in tables.effects.values()
        ],
        lanes=[
            FinalLane(
                tenant=lane.tenant,
                lane=lane.lane,
                side=lane.side.value,
                phase=lane.phase.value,
                last=lane.last,
                cursor=lane.cursor,
                worker=lane.worker,
                epoch=lane.epoch,
                parked=lane.parked or "",
                state=lane.state,
            )
            for lane in tables.lanes.values()
        ],
        quarantined=[body.body for _, body in tables.quarantine.values()],
        reminders=len(tables.reminders),
        audited=audited,
        era=tables.era,
        sending_paused=tables.sending_paused,
    )
