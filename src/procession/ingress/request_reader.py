"""Bytes become whole requests, or one refusal, within bounds.

It moves idle → head → body → idle, driven by the parser's callbacks, and ends deaf: after a refusal, or after a
request that the peer itself has called its last. What is wrong leaves the parser as an exception, since nothing else
stops it in the middle of a piece.

A head is bounded twice. Once complete it is counted field by field. While it is incomplete the raw bytes are counted,
since the parser keeps an unfinished field to itself and would let it grow for ever. The framing of a chunked body
(sizes, extensions, trailers) is bounded the same way. The bytes of a body are counted as they come, whatever was
announced; a large body takes room from the store that all connections share.
"""

from enum import Enum, auto
from typing import Final, Protocol

import httptools

from procession.ingress import refusals
from procession.ingress.asgi_types import Headers, Scope
from procession.ingress.head import place_of, refusal_of
from procession.ingress.http_limits import HttpLimits

ASGI: Final = {"version": "3.0", "spec_version": "2.3"}
CHUNK_OVERHEAD_MAX: Final = 8
"""Bytes of framing for each byte of a chunked body, past which it is no body but a way to keep us reading."""


class Reading(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    DEAF = auto()


class Audience(Protocol):
    """What a reader tells, in this order for each request; a refusal may take the place of any of them."""

    def head_begun(self) -> None: ...
    def head_read(self) -> None: ...
    def request_read(self, scope: Scope, body: bytes | bytearray, *, room: int, closes: bool) -> bytes | None:
        """Answers a refusal where there is no place for the request."""

    def refused(self, refusal: bytes) -> None: ...


class Room(Protocol):
    """Memory for large bodies, shared by all connections."""

    def take_room(self, body_bytes: int) -> bool: ...
    def give_back(self, body_bytes: int) -> None: ...


class Refused(Exception):
    """Ends the parser's run over a piece; the audience knows already."""


class RequestReader:
    __slots__ = (
        "_audience", "_body", "_body_bytes", "_client", "_completed", "_headers", "_limits", "_parser", "_raw_bytes",
        "_room", "_rooms", "_scope", "_server", "_target", "expects_continue", "reading",
    )  # fmt: skip

    def __init__(self, audience: Audience, rooms: Room, limits: HttpLimits) -> None:
        self._audience = audience
        self._rooms = rooms
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        self.reading = Reading.IDLE
        self.expects_continue = False
        """Whether the peer holds its body back until it is asked for it."""

        self._client = self._server = ("", 0)
        self._target = b""
        self._headers: Headers = []
        self._raw_bytes = 0
        self._completed = False
        self._scope: Scope = {}
        self._body: bytes | bytearray = b""
        self._body_bytes = 0
        self._room = 0

    def introduce(self, client: tuple[str, int], server: tuple[str, int]) -> None:
        self._client = client
        self._server = server

    def feed(self, piece: bytes) -> None:
        before = self.reading
        self._completed = False
        try:
            self._parser.feed_data(piece)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self.reading is not Reading.DEAF:
                self.refuse(refusals.MALFORMED)
            return
        if not self._completed:
            self._count_raw(len(piece), before)

    def refuse(self, refusal: bytes) -> Refused:
        """What is returned ends the parser's run, where it is running."""
        self.deafen()
        self._audience.refused(refusal)
        return Refused()

    def deafen(self) -> None:
        """Whatever still comes is not looked at; what was half read is forgotten."""
        self.reading = Reading.DEAF
        if self._room:
            self._rooms.give_back(self._room)
        self._body, self._body_bytes, self._room = b"", 0, 0

    def let_go(self) -> None:
        """The parser holds us, and we hold it: without this only the collector would find them."""
        self.deafen()
        del self._parser

    # What the parser says while it is fed.

    def on_message_begin(self) -> None:
        self.reading = Reading.HEAD
        self._raw_bytes = 0
        self._target = b""
        self._headers = []
        self._audience.head_begun()

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also called for trailers, which end up in a list that nobody reads."""
        headers = self._headers
        headers.append((name.lower(), value))
        if len(headers) > self._limits.head_fields_max:
            raise self.refuse(refusals.HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        version = self._parser.get_http_version()
        if self._parser.should_upgrade():
            raise self.refuse(refusals.UPGRADE)
        refusal = refusal_of(version, self._target, self._headers, self._limits)
        if refusal is not None:
            raise self.refuse(refusal)
        place = place_of(self._target)
        if place is None:
            raise self.refuse(refusals.MALFORMED)
        self._keep_head(version, place)
        self._audience.head_read()

    def on_body(self, part: bytes) -> None:
        self.expects_continue = False
        self._body_bytes += len(part)
        if self._body_bytes > self._limits.body_bytes_max:
            raise self.refuse(refusals.BODY_TOO_LARGE)
        if self._body_bytes > self._limits.body_small_bytes and not self._take_room():
            raise self.refuse(refusals.FULL)
        if not self._body:
            self._body = part
        elif isinstance(self._body, bytearray):
            self._body += part
        else:
            self._body = bytearray(self._body) + part

    def on_message_complete(self) -> None:
        self._completed = True
        self.expects_continue = False
        closes = self._scope["http_version"] == "1.0" or not self._parser.should_keep_alive()
        self.reading = Reading.DEAF if closes else Reading.IDLE
        scope, body, room = self._scope, self._body, self._room
        self._scope, self._body, self._body_bytes, self._room = {}, b"", 0, 0
        refusal = self._audience.request_read(scope, body, room=room, closes=closes)
        if refusal is not None:
            self._room = room
            raise self.refuse(refusal)

    def _keep_head(self, version: str, place: tuple[str, bytes, bytes]) -> None:
        path, raw_path, query = place
        headers, self._headers = self._headers, []
        self._raw_bytes = 0
        self.reading = Reading.BODY
        self.expects_continue = version == "1.1" and any(name == b"expect" for name, _ in headers)
        self._scope = {
            "type": "http",
            "asgi": ASGI,
            "http_version": version,
            "method": self._parser.get_method().decode("ascii"),
            "scheme": "http",
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": self._client,
            "server": self._server,
        }

    def _count_raw(self, raw_bytes: int, before: Reading) -> None:
        if self.reading is Reading.HEAD:
            self._raw_bytes += raw_bytes
            if self._raw_bytes > self._limits.head_bytes_max:
                self.refuse(refusals.HEAD_TOO_LARGE)
        elif self.reading is Reading.BODY and before is Reading.BODY:
            self._raw_bytes += raw_bytes
            if self._raw_bytes > self._body_bytes * CHUNK_OVERHEAD_MAX + self._limits.head_bytes_max:
                self.refuse(refusals.BODY_TOO_LARGE)

    def _take_room(self) -> bool:
        wanted = self._body_bytes - self._room
        if not self._rooms.take_room(wanted):
            return False
        self._room += wanted
        return True
