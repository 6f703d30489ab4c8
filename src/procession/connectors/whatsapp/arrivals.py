"""What an element becomes: an event of its kind, in the lane of whoever it is about.

    a person's message                      whatsapp.text, .image, …         the person's lane, or the group's
    typed into the app on the phone         whatsapp.echo                    the receiver's lane, paused
    an old conversation, handed over        whatsapp.history                 the person's lane
    anything else (templates, quality, …)   whatsapp.<field>, .errors        the channel's own lane, `account`

Ids: a message's is its `wamid`. Of an echo, and of what has none, the id begins with a word, so that they are never
taken for one another; without a `wamid` it is a digest of all that came, so that a redelivery has the same.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Final

from procession.connectors.fields import Unfit, moment_of
from procession.connectors.pointer import value_at
from procession.connectors.whatsapp.names import CONTACT_FIELDS, group_of, is_group, name_of, names_in, rank, sender_of
from procession.connectors.whatsapp.routes import Route
from procession.connectors.whatsapp.wrapper import ECHOES, ERRORS, HISTORY, MESSAGES, Element
from procession.core.event import Order, Ordering
from procession.core.lane import PauseDraft
from procession.core.limits import KIND_CHARS_MAX, LANE_KEY_CHARS_MAX
from procession.ports.connector import Arrival

ACCOUNT_LANE: Final = "account"
KINDS: Final = frozenset(
    {"text", "image", "video", "audio", "document", "sticker", "location", "contacts", "button", "order", "reaction"}
    | {"unsupported", "edit", "revoke", "system"}
)
INTERACTIVE: Final[Mapping[str, str]] = {
    "button_reply": "button_reply",
    "list_reply": "list_reply",
    "nfm_reply": "flow_reply",
}
_TEXT_AT: Final = (
    *(("text", "body"), ("button", "text"), ("image", "caption"), ("video", "caption"), ("document", "caption")),
    *(("interactive", "button_reply", "title"), ("interactive", "list_reply", "title")),
)
_FIELD: Final = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_NOBODY_CALLED: Final = datetime(2009, 1, 1, tzinfo=UTC)
"""Before WhatsApp: a timestamp that is no timestamp."""
_AHEAD_MAX: Final = timedelta(minutes=5)
"""What a source's clock may run ahead of ours; a moment beyond that would hold back everything that comes after it."""


def arrival_of(element: Element, route: Route, received_at: datetime) -> Arrival:
    """`Unfit`, if it says not whose or which it is."""
    if element.part == MESSAGES and element.around.field != HISTORY:
        return _message(element, route, received_at)
    if element.part == ECHOES:
        return _echo(element, route, received_at)
    if element.part == HISTORY or (element.part == MESSAGES and element.around.field == HISTORY):
        return _history(element, route)
    return _notice(element, route)


# --- persons ---


def _message(element: Element, route: Route, received_at: datetime) -> Arrival:
    kind, at = _kind(element.fields), _moment(element.fields, received_at)
    names, retires = _subject(element, kind)
    return Arrival(
        tenant=route.channel.tenant,
        channel=route.channel.name,
        lane_key=names[0],
        provider_id=_wamid(element) or _digest("message", element),
        kind=f"whatsapp.{kind}",
        payload=element.kept(),
        occurred_at=at,
        order=_order(route, at),
        text=_text(element.fields),
        aliases=names,
        retires=retires,
        # In a group any of its members opens the group's window.
        hears=kind != "system",
    )


def _echo(element: Element, route: Route, received_at: datetime) -> Arrival:
    at, pause = _moment(element.fields, received_at), route.settings.echo_pause
    names = _group(element.fields) or names_in(element.fields, ("to", "to_user_id", "to_parent_user_id"))
    if not names:
        raise Unfit("an echo does not say to whom it went")
    own = _wamid(element)
    return Arrival(
        tenant=route.channel.tenant,
        channel=route.channel.name,
        lane_key=names[0],
        provider_id=f"echo:{own}" if own is not None else _digest("echo", element),
        kind="whatsapp.echo",
        payload=element.kept(),
        occurred_at=at,
        order=_order(route, at),
        aliases=names,
        pause=PauseDraft(duration=pause, keep_effects=False, reason="somebody answers on the phone") if pause else None,
    )


def _history(element: Element, route: Route) -> Arrival:
    """Long past: without `occurred_at`, since it would be taken for a replay of something that was played already."""
    thread = name_of(element.fields.get("id"))
    context = element.fields.get("context")
    beside = names_in(context, CONTACT_FIELDS) if isinstance(context, dict) else ()
    names = _joined((thread,) if thread is not None else (), beside)
    if element.part == MESSAGES:
        names = sender_of(element.fields)
    return Arrival(
        tenant=route.channel.tenant,
        channel=route.channel.name,
        lane_key=names[0] if names else ACCOUNT_LANE,
        provider_id=_digest("history", element),
        kind="whatsapp.history",
        payload=element.kept(),
        aliases=names,
    )


def _notice(element: Element, route: Route) -> Arrival:
    field = element.around.field
    kind = "errors" if element.part == ERRORS else field if _FIELD.fullmatch(field) else "other"
    return Arrival(
        tenant=route.channel.tenant,
        channel=route.channel.name,
        lane_key=ACCOUNT_LANE,
        provider_id=_digest("notice", element),
        kind=f"whatsapp.{kind}"[:KIND_CHARS_MAX],
        payload=element.kept(),
    )


# --- whose, which, when ---


def _kind(message: Mapping[str, object]) -> str:
    said = message.get("type")
    if said == "interactive":
        inner = value_at(message, ("interactive", "type"))
        return INTERACTIVE.get(inner, "other") if isinstance(inner, str) else "other"
    return said if isinstance(said, str) and said in KINDS else "other"


def _subject(element: Element, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of whoever it is about, the best first, and those that are theirs no more."""
    group = _group(element.fields)
    if group:
        return group, ()
    names = sender_of(element.fields)
    contact = element.around.contact
    if contact is not None and isinstance(contact.read, dict):
        names = _joined(names, names_in(contact.read, CONTACT_FIELDS))
    retires: tuple[str, ...] = ()
    if kind == "system":
        names, retires = _changed(element.fields, names)
    if not names:
        raise Unfit("a message does not say from whom it is")
    return names, retires


def _group(message: Mapping[str, object]) -> tuple[str, ...]:
    if message.get("group_id") is None:
        return ()
    group = group_of(message["group_id"])
    if group is None:
        raise Unfit("group_id is no name of a group")
    return (group,)


def _joined(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """What the message says itself goes first; of a contact only what it does not say."""
    ranks = {rank(name) for name in names}
    return tuple(sorted((*names, *(name for name in more if rank(name) not in ranks)), key=rank))


def _changed(message: Mapping[str, object], old: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Somebody has a new phone number, or with it a new id: the old one leads to the same conversation for a while."""
    system = message.get("system")
    if not isinstance(system, dict) or system.get("type") not in ("user_changed_number", "user_changed_user_id"):
        return old, ()
    new = names_in(system, CONTACT_FIELDS)
    ranks = {rank(name) for name in new}
    retired = tuple(name for name in old if rank(name) in ranks and name not in new)
    stays = tuple(name for name in old if name not in retired and name not in new)
    return (*sorted((*new, *stays), key=rank), *retired), retired


def _wamid(element: Element) -> str | None:
    own = element.fields.get("id")
    if own is None:
        return None
    if not isinstance(own, str) or not own or len(own) > LANE_KEY_CHARS_MAX - len("echo:") or not own.isprintable():
        raise Unfit("id is no short, printable text")
    return own


def _digest(word: str, element: Element) -> str:
    """`entry.time` is part of it: quality falls, rises and falls again in the very same words."""
    around, digest = element.around, blake2b(digest_size=16)
    for pair in (around.entry, around.time, around.metadata, around.chunk):
        digest.update(b"%d:" % len(pair.raw) + pair.raw if pair is not None else b"-")
    digest.update(around.field.encode("utf-8", "surrogatepass") + b"\0" + element.part.encode() + b"\0" + element.raw)
    return f"{word}:{digest.hexdigest()}"


def _moment(message: Mapping[str, object], received_at: datetime) -> datetime | None:
    """Seconds since 1970, as text; None where it makes no sense."""
    found = moment_of(message.get("timestamp"))
    if found is None or not _NOBODY_CALLED <= found <= received_at + _AHEAD_MAX:
        return None
    return found


def _order(route: Route, at: datetime | None) -> Order | None:
    window = route.settings.reorder_window
    if not window or at is None:
        return None
    return Order(by=Ordering.TIME, key=int(at.timestamp() * 1_000_000), window=window)


def _text(message: Mapping[str, object]) -> str | None:
    for place in _TEXT_AT:
        found = value_at(message, place)
        if isinstance(found, str) and found:
            return found
    return None


def is_conversation(lane_key: str) -> bool:
    """Whether somebody can be written to there."""
    return is_group(lane_key) or name_of(lane_key) is not None
