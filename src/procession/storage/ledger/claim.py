"""Claim: fair between tenants, within shares, whole turns (C1 to C6)."""

from collections import Counter
from typing import Final

from procession.core.event import Event
from procession.core.ids import ChannelName, EventId, LaneId, TenantId
from procession.core.turn import HeldEffect, HeldTurn, Step
from procession.ports.store import Ask
from procession.storage.instants import after, moment, moment_or_none
from procession.storage.ledger.book import Book
from procession.storage.ledger.effect import effect_of
from procession.storage.ledger.lane import READY, SENDS, TRY_ALONE, TRY_OPEN, TURNS, Lane
from procession.storage.ledger.rest import hold
from procession.storage.ledger.shares import Share, Standing

_READY_TURNS: Final = "claim.ready_turns"
_LANE_COLUMNS: Final = len(Lane.COLUMNS)

EventRow = tuple[str, int, str, str, str, int, int | None, int, bytes, int | None]
"""id, seq, channel, provider_id, kind, accepted_at, occurred_at, late, payload, events_max."""


def claim_turns(book: Book, ask: Ask) -> tuple[HeldTurn, ...]:
    picked = _pick_suspects(book, ask) if ask.suspects else _pick_turns(book, ask)
    until = after(book.now, ask.ttl)
    turns = []
    for lane, head in picked:
        hold(book, lane, ask.worker, until)
        turns.append(open_turn(book, lane, head, alone=ask.alone))
    return tuple(turns)


def claim_sends(book: Book, ask: Ask) -> tuple[HeldEffect, ...]:
    if book.sending_paused:
        return ()
    until = after(book.now, ask.ttl)
    held = []
    for lane in _pick_sends(book, ask):
        hold(book, lane, ask.worker, until)
        held.append(held_effect(book, lane))
    return tuple(held)


# --- which lanes ---


def _pick_turns(book: Book, ask: Ask) -> list[tuple[Lane, EventRow | None]]:
    whose = book.shares.pick(TURNS, ask.pools, ask.lanes_max, _clean)
    return _lanes_of(book, _READY_TURNS, whose)


def _pick_suspects(book: Book, ask: Ask) -> list[tuple[Lane, EventRow | None]]:
    """The most suspect first, over all tenants; from two deaths on, one alone."""
    worst: dict[int, int] = {}

    def deaths(share: Share, standing: Standing) -> int:
        if standing.suspects and share.no not in worst:
            (worst[share.no],) = book.execute("claim.most_deaths", (share.no,)).fetchone()
        return worst.get(share.no, 0)

    most = book.shares.most(TURNS, ask.pools, deaths)
    if most < 2:
        whose = book.shares.pick(TURNS, ask.pools, ask.lanes_max, _suspect)
    else:
        only = min(ask.lanes_max, 1)
        whose = book.shares.pick(TURNS, ask.pools, only, lambda share, standing: int(deaths(share, standing) == most))
    return _lanes_of(book, "claim.suspect_turns", whose)


def _lanes_of(book: Book, statement: str, whose: list[Share]) -> list[tuple[Lane, EventRow | None]]:
    """One lane for each time that a tenant is named, in that order, each tenant's longest ready first."""
    found: dict[int, list[tuple[Lane, EventRow | None]]] = {}
    for no, rows in book.take_ready(statement, Counter([share.no for share in whose])).items():
        found[no] = [
            (book.adopt(row[:_LANE_COLUMNS]), None if row[_LANE_COLUMNS] is None else row[_LANE_COLUMNS:])
            for row in reversed(rows)
        ]
    # Fewer than were counted only where others may have taken some since.
    return [found[share.no].pop() for share in whose if found.get(share.no)]


def _pick_sends(book: Book, ask: Ask) -> list[Lane]:
    whose = book.shares.pick(SENDS, ask.pools, ask.lanes_max, _clean)
    found: dict[int, list[Lane]] = {}
    for no, rows in book.take_ready("claim.ready_sends", Counter([share.no for share in whose])).items():
        found[no] = [book.adopt(row) for row in reversed(rows)]
    return [found[share.no].pop() for share in whose if found.get(share.no)]


def _clean(_share: Share, standing: Standing) -> int:
    return standing.ready


def _suspect(_share: Share, standing: Standing) -> int:
    return standing.suspects


# --- the turn ---


def open_turn(book: Book, lane: Lane, head: EventRow | None, *, alone: bool) -> HeldTurn:
    """Freeze the head's events, count the try, and hand the turn out."""
    if lane.turn is None:
        _freeze(book, lane, head)
    lane.tries += 1
    lane.try_open, lane.try_at, lane.not_before = TRY_ALONE if alone else TRY_OPEN, book.now, None
    book.changed(lane)
    return held_turn(book, lane, head)


def held_turn(book: Book, lane: Lane, head: EventRow | None = None) -> HeldTurn:
    """The turn of a held lane; `head` saves reading what was read already."""
    tenant = TenantId(book.shares[lane.tenant].tenant)
    assert lane.turn_last is not None
    assert lane.first_try_at is not None
    first = lane.cursor + 1 if lane.aside_seq is None else lane.aside_seq
    if head is not None and head[1] == first == lane.turn_last:
        rows = [head]
    else:
        rows = book.execute("claim.events", (lane.tenant, lane.no, first, lane.turn_last)).fetchall()
    assert rows[0][0] == lane.turn, "the head of a lane is not the turn that it has open"
    heir = book.heir(lane)
    return HeldTurn(
        lease=book.lease(lane),
        lane_key=lane.key,
        events=tuple([_event_of(row, tenant, lane) for row in rows]),
        state=book.state_of(lane),
        steps=_steps(book, lane),
        tries=lane.tries,
        deaths=lane.deaths,
        deaths_alone=lane.deaths_alone,
        first_try_at=moment(lane.first_try_at),
        aliases=book.names.of_lane(heir.tenant, heir.no) if heir.named else (),
        heard_at=moment_or_none(heir.heard_at),
    )


def _freeze(book: Book, lane: Lane, head: EventRow | None) -> None:
    lane.first_try_at = book.now
    if lane.replaying:
        _freeze_replay(book, lane)
        return
    if head is None:
        first = lane.cursor + 1
        head = book.execute("claim.events", (lane.tenant, lane.no, first, first)).fetchone()
    assert head is not None, "a ready lane has no head"
    lane.turn, lane.turn_last, lane.aside_seq = head[0], head[1], None
    if head[7]:
        _recall_tries(book, lane)  # it may be a replay that came here with a merge
    events_max = head[9]
    if events_max is not None and events_max > 1:
        lane.turn_last = _last_of_run(book, lane, events_max)


def _last_of_run(book: Book, lane: Lane, events_max: int) -> int:
    """C4: the events behind the head, without gap, that have a window too."""
    last = lane.cursor + 1
    for seq, quiet in book.execute("claim.window_run", (lane.tenant, lane.no, lane.cursor, events_max)):
        if quiet is None:
            break
        last = seq
    return last


def _freeze_replay(book: Book, lane: Lane) -> None:
    (seq,) = book.execute("claim.next_replay", (lane.tenant, lane.no)).fetchone()
    (row,) = book.execute("claim.events", (lane.tenant, lane.no, seq, seq)).fetchall()
    lane.turn, lane.turn_last, lane.aside_seq = row[0], seq, seq
    lane.replaying -= 1
    _recall_tries(book, lane)


def _recall_tries(book: Book, lane: Lane) -> None:
    """What a turn's earlier life has left holds."""
    lane.has_steps = 1
    (first,) = book.execute("claim.first_try_at", (lane.tenant, lane.turn)).fetchone()
    lane.first_try_at = book.now if first is None else first


def _event_of(row: EventRow, tenant: TenantId, lane: Lane) -> Event:
    event, seq, channel, provider_id, kind, accepted_at, occurred_at, late, payload, _ = row
    return Event(
        tenant=tenant,
        channel=ChannelName(channel),
        lane=LaneId(lane.lane),
        lane_key=lane.key,
        id=EventId(event),
        provider_id=provider_id,
        kind=kind,
        payload=payload,
        seq=seq,
        accepted_at=moment(accepted_at),
        occurred_at=moment_or_none(occurred_at),
        late=bool(late),
    )


def _steps(book: Book, lane: Lane) -> tuple[Step, ...]:
    if not lane.has_steps:
        return ()
    rows = book.execute("claim.steps", (lane.tenant, lane.turn)).fetchall()
    return tuple([Step(name=name, occurrence=occurrence, value=value) for name, occurrence, value in rows])


# --- the effect ---


def held_effect(book: Book, lane: Lane) -> HeldEffect:
    head = book.effect_at(lane, lane.cursor + 1)
    assert head is not None, "a ready conversation has no head"
    (payload,) = book.execute("claim.payload", (head.tenant, head.lane, head.oseq)).fetchone()
    return HeldEffect(lease=book.lease(lane), effect=effect_of(head, book.shares[lane.tenant].tenant, lane, payload))


def keep_send(book: Book, lane: Lane, worker: str, until: int) -> HeldEffect | None:
    """D7: the conversation's next effect, claimed in the write that ended the one before, if it may be begun now."""
    if lane.phase != READY or book.sending_paused:
        return None
    hold(book, lane, worker, until)
    lane.chained = 1
    return held_effect(book, lane)


def keep_turn(book: Book, lane: Lane, worker: str, until: int) -> HeldTurn | None:
    """T11: the lane's next turn, claimed in the write that settled the one before."""
    if lane.phase != READY or lane.deaths or not book.shares.may_keep(lane.tenant):
        return None
    hold(book, lane, worker, until)
    lane.chained = 1
    return open_turn(book, lane, None, alone=False)
