"""The rows of a SQLite store as the auditor compares them in the end."""

import sqlite3

from procession.core.effect import EffectState
from procession.core.ids import EffectId, EventId, LaneId, TenantId
from procession.testing.simulation.final_state import FinalEffect, FinalEvent, FinalLane, FinalState

_EVENTS = """
    SELECT t.tenant, e.channel, e.id, e.provider_id, l.lane, e.kind, e.seq, e.late, e.payload,
           coalesce(e.state, CASE WHEN e.seq <= l.cursor THEN 'done' ELSE 'waiting' END)
    FROM procession_event e JOIN procession_lane l ON l.no = e.lane JOIN procession_tenant t ON t.no = e.tenant
    ORDER BY e.no
"""
_EFFECTS = """
    SELECT t.tenant, e.id, l.lane, e.turn, e.oseq, e.state, e.resends, e.receipt, e.failed, e.doubt_until, e.payload
    FROM procession_effect e JOIN procession_lane l ON l.no = e.lane JOIN procession_tenant t ON t.no = e.tenant
    ORDER BY e.no
"""
_LANES = """
    SELECT t.tenant, l.lane, l.side, l.phase, l.next_seq - 1, l.cursor, l.worker, l.epoch,
           coalesce(l.parked, ''), s.state
    FROM procession_lane l JOIN procession_tenant t ON t.no = l.tenant LEFT JOIN procession_state s ON s.lane = l.no
    ORDER BY l.no
"""


def read_state(connection: sqlite3.Connection) -> FinalState:
    execute = connection.execute
    (era, paused), = execute("SELECT era, sending_paused FROM procession_store").fetchall()  # fmt: skip
    ((reminders,),) = execute("SELECT count(*) FROM procession_reminder WHERE due_at IS NOT NULL").fetchall()
    return FinalState(
        events=[_event(row) for row in execute(_EVENTS)],
        effects=[_effect(row) for row in execute(_EFFECTS)],
        lanes=[
            FinalLane(
                tenant=TenantId(tenant),
                lane=LaneId(lane),
                side=side,
                phase=phase,
                last=last,
                cursor=cursor,
                worker=worker,
                epoch=epoch,
                parked=parked,
                state=state,
            )
            for tenant, lane, side, phase, last, cursor, worker, epoch, parked, state in execute(_LANES)
        ],
        quarantined=[body for (body,) in execute("SELECT body FROM procession_quarantine")],
        reminders=reminders,
        audited=dict(execute("SELECT verb, count(*) FROM procession_audit GROUP BY verb").fetchall()),
        era=era,
        sending_paused=bool(paused),
    )  # fmt: skip


def _event(row: tuple[str, str, str, str, str, str, int | None, int, bytes, str]) -> FinalEvent:
    tenant, channel, own_id, provider_id, lane, kind, seq, late, payload, state = row
    return FinalEvent(
        tenant=TenantId(tenant),
        channel=channel,
        id=EventId(own_id),
        provider_id=provider_id,
        lane=LaneId(lane),
        kind=kind,
        seq=seq,
        state="waiting" if state == "replaying" else state,
        late=bool(late),
        payload=payload,
    )


def _effect(row: tuple[str, str, str, str, int, str, int, int, int, int | None, bytes]) -> FinalEffect:
    tenant, own_id, lane, turn, oseq, state, resends, receipt, failed, doubt_until, payload = row
    return FinalEffect(
        tenant=TenantId(tenant),
        id=EffectId(own_id),
        lane=LaneId(lane),
        turn=turn,
        oseq=oseq,
        state=EffectState(state).value,
        resends=resends,
        receipt=receipt,
        failed=bool(failed),
        doubt_until_known=doubt_until is not None,
        payload=payload,
    )
