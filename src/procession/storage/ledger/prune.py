"""Prune: forget what ended longer ago than is kept (P1, P2)."""

from datetime import timedelta

from procession.core.errors import BadRequest
from procession.core.limits import DEDUP_KEEP_MIN
from procession.ports.store import Pruned
from procession.storage.instants import micros
from procession.storage.ledger.book import Book


def prune(book: Book, keep: timedelta, rows_max: int) -> Pruned:
    if keep < DEDUP_KEEP_MIN:
        raise BadRequest(f"keep must be at least {DEDUP_KEEP_MIN}: providers repeat deliveries for up to seven days")
    book.flush_turns()
    horizon = book.now - micros(keep)
    over = book.execute("prune.forget_over", (horizon, rows_max)).rowcount
    turns, events = _forget_turns(book, horizon, rows_max)
    effects = book.execute("prune.forget_effects", (horizon, horizon, rows_max)).rowcount
    sightings = book.execute("prune.forget_sightings", (horizon, rows_max)).rowcount
    names = book.names.forget_retired(book.now, rows_max)
    rows = events + over + effects + sightings + names
    return Pruned(rows=rows, more=rows_max in (turns, over, effects, sightings, names))


def _forget_turns(book: Book, horizon: int, rows_max: int) -> tuple[int, int]:
    """How many turns were forgotten, and how many events with them."""
    turns = events = 0
    for no, tenant, lane, first, last, turn, ended_at in book.execute("prune.turns_ended", (rows_max,)).fetchall():
        if ended_at > horizon:
            break
        book.execute("prune.forget_turn", (tenant, no))
        events += book.execute("prune.forget_events", (tenant, lane, first, last)).rowcount
        for statement in ("prune.forget_tries", "prune.forget_steps"):
            book.execute(statement, (tenant, turn, lane, first, last))
        turns += 1
    return turns, events
