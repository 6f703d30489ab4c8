"""Holds (B4, D9, D10): what keeps the sends of a channel, or of a whole tenant, back."""

from procession.core.limits import HALT_LOOK
from procession.core.verdict import Deferred, Halted, Scope
from procession.storage.instants import FOREVER, after
from procession.storage.ledger.book import Book
from procession.storage.ledger.effect import Sent
from procession.storage.ledger.outlet import WHOLE_TENANT, Outlet


def outlets_of(book: Book, sent: Sent) -> tuple[Outlet, Outlet]:
    """Both that can hold it back: its channel, and its tenant."""
    return book.outlet(sent.tenant, sent.channel), book.outlet(sent.tenant, WHOLE_TENANT)


def holder(book: Book, sent: Sent) -> Outlet | None:
    """What holds the effect back, the longest of several. None: nothing does."""
    longest = max(outlets_of(book, sent), key=_hold_end)
    return longest if longest.hold_end > book.now else None


def _hold_end(outlet: Outlet) -> int:
    return outlet.hold_end


def look_at(book: Book, sent: Sent) -> int | None:
    """When a conversation that is held back is looked at again."""
    held = holder(book, sent)
    if held is None:
        return None
    return after(book.now, HALT_LOOK) if held.hold_end >= FOREVER else held.hold_end


def hold_back(book: Book, sent: Sent, verdict: Deferred | Halted) -> None:
    if verdict.scope is Scope.CONVERSATION:
        return
    outlet = book.outlet(sent.tenant, WHOLE_TENANT if verdict.scope is Scope.TENANT else sent.channel)
    until = FOREVER if isinstance(verdict, Halted) else after(book.now, verdict.after)
    if outlet.hold_end <= book.now:
        outlet.held_from = outlet.held_until = book.now
    if until > outlet.hold_end:
        outlet.held_until = None if until == FOREVER else until
        outlet.held_reason = reason_of(verdict)
    book.changed_outlet(outlet)


def reason_of(verdict: Deferred | Halted) -> str:
    code = verdict.code if isinstance(verdict, Halted) else ""
    return f"{code}: {verdict.reason}" if code else verdict.reason
