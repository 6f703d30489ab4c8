"""An event as a handler sees it."""

from datetime import datetime
from typing import Final

from procession.core.errors import TurnMisused
from procession.core.event import Event as StoredEvent
from procession.core.ids import ChannelName, EventId, LaneId, TenantId
from procession.runtime import document
from procession.runtime.document import Json

_REMINDER: Final = "reminder."
_TEXT_AT: Final = (
    ("text", "body"),
    ("button", "text"),
    ("interactive", "button_reply", "title"),
    ("interactive", "list_reply", "title"),
    ("image", "caption"),
    ("video", "caption"),
    ("document", "caption"),
    ("edit", "message", "text", "body"),
    ("edit", "message", "image", "caption"),
    ("edit", "message", "video", "caption"),
    ("edit", "message", "document", "caption"),
    ("order", "text"),
    ("text",),
    ("body",),
    ("message",),
)
"""Where sources put what a person wrote, the more telling place first."""
_MEDIA_AT: Final = ("image", "video", "audio", "document", "sticker")
_REPLY_TO_AT: Final = (
    ("context", "id"),
    ("reaction", "message_id"),
    ("edit", "original_message_id"),
    ("revoke", "original_message_id"),
)
_NAME_AT: Final = (("procession", "contact", "profile", "name"), ("sender", "name"), ("from", "name"))
_SENDER_AT: Final = (("from",), ("from_user_id",), ("sender",), ("from", "id"), ("sender", "id"))


class Media:
    """A file that came with an event: what the provider says of it."""

    __slots__ = ("_found", "kind")

    def __init__(self, kind: str, found: dict[str, Json]) -> None:
        self.kind = kind
        """`image`, `video`, `audio`, `document`, `sticker`."""
        self._found = found

    @property
    def id(self) -> str:
        """By which the provider hands out its bytes."""
        return self._text("id")

    @property
    def mime_type(self) -> str:
        return self._text("mime_type")

    @property
    def sha256(self) -> str:
        return self._text("sha256")

    @property
    def caption(self) -> str:
        return self._text("caption")

    @property
    def filename(self) -> str:
        return self._text("filename")

    def _text(self, name: str) -> str:
        value = self._found.get(name)
        return value if isinstance(value, str) else ""

    def __repr__(self) -> str:
        return f"<Media {self.kind} {self.id}>"


class Event:
    """One event, with its place in its lane. What a source sent stands in `data`; nothing of it is changed."""

    __slots__ = ("_data", "_stored")

    def __init__(self, stored: StoredEvent) -> None:
        self._stored = stored
        self._data: Json = _UNREAD

    @property
    def id(self) -> EventId:
        """Ours; the same however often the source delivers it."""
        return self._stored.id

    @property
    def provider_id(self) -> str:
        """The source's own id of it."""
        return self._stored.provider_id

    @property
    def kind(self) -> str:
        """What it is: `whatsapp.text`, `orders/create`, `reminder.follow-up`."""
        return self._stored.kind

    @property
    def raw(self) -> bytes:
        """The source's JSON element, byte for byte."""
        return self._stored.payload

    @property
    def data(self) -> Json:
        """The source's JSON element, parsed (once)."""
        if self._data is _UNREAD:
            try:
                self._data = document.read(self._stored.payload)
            except (ValueError, RecursionError):
                raise TurnMisused(f"event {self.id} is not JSON; its bytes stand in event.raw") from None
        return self._data

    @property
    def text(self) -> str:
        """What a person wrote, wherever the source puts it; "" where nobody wrote anything."""
        return self._first_text(_TEXT_AT)

    @property
    def sender(self) -> str:
        """Who it is from, as the source names them; else the lane's key."""
        return self._first_text(_SENDER_AT) or self._stored.lane_key

    @property
    def media(self) -> "Media | None":
        """What was sent along: a picture, a voice note, a document. The provider hands out its bytes by its id."""
        try:
            whole = self.data
        except TurnMisused:
            return None
        for kind in _MEDIA_AT:
            found = _at(whole, (kind,))
            if isinstance(found, dict) and isinstance(found.get("id"), str):
                return Media(kind=kind, found=found)
        return None

    @property
    def reply_to(self) -> str | None:
        """The provider's id of what this answers or reacts to, if the person said so."""
        return self._first_text(_REPLY_TO_AT) or None

    @property
    def sender_name(self) -> str:
        """The name that the person has given themselves; "" where the source says none."""
        return self._first_text(_NAME_AT)

    @property
    def reminder(self) -> str | None:
        """The name of the reminder that this event is, if it is one; what was given with it stands in `data`."""
        return self.kind.removeprefix(_REMINDER) if self.kind.startswith(_REMINDER) else None

    @property
    def seq(self) -> int:
        """Its place in the lane: 1, 2, 3, in the order of acceptance."""
        return self._stored.seq

    @property
    def late(self) -> bool:
        """The source's own order would have it earlier, but what follows it there was played already."""
        return self._stored.late

    @property
    def accepted_at(self) -> datetime:
        """When it was written down (UTC, the store's clock)."""
        return self._stored.accepted_at

    @property
    def occurred_at(self) -> datetime | None:
        """When it happened, as the source says."""
        return self._stored.occurred_at

    @property
    def tenant(self) -> TenantId:
        return self._stored.tenant

    @property
    def channel(self) -> ChannelName:
        return self._stored.channel

    @property
    def lane(self) -> LaneId:
        return self._stored.lane

    @property
    def lane_key(self) -> str:
        """Whose lane it is: the person, the order."""
        return self._stored.lane_key

    def __repr__(self) -> str:
        return f"<Event {self.kind} {self.id} seq={self.seq}>"

    def _first_text(self, places: tuple[tuple[str, ...], ...]) -> str:
        try:
            whole = self.data
        except TurnMisused:
            return ""
        for place in places:
            found = _at(whole, place)
            if isinstance(found, str) and found:
                return found
        return ""


_UNREAD: Final = object()


def _at(whole: Json, place: tuple[str, ...]) -> Json:
    for name in place:
        if not isinstance(whole, dict):
            return None
        whole = whole.get(name)
    return whole
