"""Effects that are asked for: each takes its conversation's next place (T3, M2)."""

from collections.abc import Sequence

from procession.core.effect import EffectDraft
from procession.core.lane import LaneMove
from procession.storage.instants import instant, micros
from procession.storage.ledger.book import Book
from procession.storage.ledger.find import find_lane
from procession.storage.ledger.lane import SENDS, Lane
from procession.storage.ledger.rest import end_pause_if_over, touch


def append_effects(book: Book, tenant: int, turn: str, drafts: Sequence[EffectDraft]) -> None:
    """In order; one whose id is there already is left as it is."""
    grown: dict[int, Lane] = {}
    for draft in drafts:
        if draft.aliases and _is_known(book, tenant, draft):
            continue  # what is there already merges nobody
        known = book.lane(tenant, draft.lane, SENDS)
        place = (tenant, draft.channel, draft.lane, draft.lane_key)
        lane = find_lane(book, place, draft.aliases, (), SENDS)
        if lane.paused and not _is_known(book, tenant, draft):
            end_pause_if_over(book, lane)
        if book.execute("settle.effect", _row(book, lane, turn, draft)).rowcount:
            lane.next_seq += 1
            grown[lane.no] = lane
            book.tally[tenant, "asked"] += 1
        elif known is None and not draft.aliases:
            book.discard(lane)
    for lane in grown.values():
        touch(book, lane, LaneMove.ACCEPT)


def _is_known(book: Book, tenant: int, draft: EffectDraft) -> bool:
    return book.execute("settle.effect_known", (tenant, draft.id)).fetchone() is not None


def _row(book: Book, lane: Lane, turn: str, draft: EffectDraft) -> tuple[object, ...]:
    terms, gate = draft.terms, draft.terms.gate
    return (
        lane.tenant,
        draft.id,
        lane.no,
        lane.next_seq,
        draft.channel,
        turn,
        draft.key,
        draft.action,
        terms.repeatability.value,
        int(gate.receipt),
        micros(gate.wait_max),
        micros(gate.gap),
        None if gate.unshown is None else micros(gate.unshown),
        terms.doubt.value,
        micros(terms.doubt_wait),
        terms.resends_max,
        terms.on_refused.value,
        terms.tries_max,
        micros(terms.answer_within),
        None if terms.window is None else micros(terms.window),
        book.now,
        None if draft.about_at is None else instant(draft.about_at),
        book.now,
        draft.payload,
    )
