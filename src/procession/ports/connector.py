"""A connector speaks one provider's language: inbound (verify, parse) and outbound (perform, probe).

Inbound is pure: bytes and headers in, values out, no waiting. Outbound calls out, through the wire that it is handed,
and answers one of the verdicts; it never raises for what a provider may do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from procession.core.effect import Effect, Repeatability, Terms
from procession.core.event import Order, Sighting
from procession.core.ids import ChannelName, TenantId
from procession.core.lane import PauseDraft
from procession.core.pace import Pace
from procession.core.verdict import Verdict
from procession.ports.directory import Channel, Endpoint, Setting
from procession.ports.files import File
from procession.ports.wire import WirePort


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An HTTP request to an endpoint, as it came. Header names are lower case; values are what was sent, latin-1."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    received_at: datetime

    def header(self, name: str) -> str | None:
        """The value of a header that occurs exactly once; a doubled one is as good as none where a signature depends
        on it.
        """
        found: str | None = None
        for key, value in self.headers:
            if key == name:
                if found is not None:
                    return None
                found = value
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An event as a connector reads it: not yet with our ids."""

    tenant: TenantId
    channel: ChannelName
    lane_key: str
    provider_id: str
    kind: str
    payload: bytes
    occurred_at: datetime | None = None
    order: Order | None = None
    text: str | None = None
    """What a person wrote, where that is what the event is: flush words are looked for in it."""
    aliases: tuple[str, ...] = ()
    """Names of the subject, `lane_key` among them: see `core.event.NewEvent`."""
    retires: tuple[str, ...] = ()
    hears: bool = False
    pause: PauseDraft | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """Part of a signed body that could not be parsed or routed."""

    reason: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    arrivals: tuple[Arrival, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of a connector's own, to a handshake."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"


class Inbound(Protocol):
    """I1. `verify` looks at raw bytes and headers only, compares in constant time, and knows no tenant.
    I2. `parse` is called only after `verify` said yes, and routes only to channels that it is handed (those bound to
        the endpoint).
    I3. Whatever a body holds, `parse` answers; what it cannot read or route is `unreadable`, the rest is still
        answered.
    """

    name: str

    def check_endpoint(self, settings: Mapping[str, Setting]) -> None:
        """Raise `Misconfigured`, naming the setting and what it should be."""
        ...

    def check_channel(self, settings: Mapping[str, Setting]) -> None: ...

    def verify(self, endpoint: Endpoint, secrets: Sequence[bytes], delivery: Delivery) -> str | None:
        """None: the signature is good under one of the secrets. Else why not, in words that reveal nothing secret."""
        ...

    def parse(self, endpoint: Endpoint, channels: Sequence[Channel], delivery: Delivery) -> Parsed: ...

    def handshake(self, endpoint: Endpoint, tokens: Mapping[str, bytes], delivery: Delivery) -> Answer | None:
        """The answer to a GET, where the provider asks for one. `tokens`: the endpoint's further secrets, by field."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One armed attempt, with all that performing it may use."""

    effect: Effect
    attempt: int
    channel: Channel
    secrets: Mapping[str, bytes]
    """The channel's own, opened for this call only."""
    deadline: timedelta
    may_begin: Callable[[], bool]
    """Asked immediately before the first byte: False means that trust is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whom:
    """Whom an effect goes to, as the turn that asks for it knows it."""

    lane_key: str
    aliases: tuple[str, ...] = ()
    """The names that lead to the lane, the newest first; none where only a key was given."""
    heard_at: datetime | None = None
    """When it was last heard from."""
    is_known: bool = True
    """False: only a key was given, so that nothing is known of the lane; the store will see."""
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """What a handler asked for, in the connector's own terms."""

    action: str
    value: object
    """A JSON document, or the payload itself as bytes."""
    aliases: tuple[str, ...] = ()
    """Names of the conversation that it goes to; see `core.event.NewEvent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCall:
    """What calling a provider about a file may use."""

    channel: Channel
    secrets: Mapping[str, bytes] = field(repr=False)
    """The channel's own, opened for this call only."""
    deadline: timedelta
    may_begin: Callable[[], bool]


@runtime_checkable
class KeepsFiles(Protocol):
    """A connector whose provider keeps files. Raises `BadRequest` for what can never be, `FileFailed` for what did not
    work now; the texts hold neither secrets nor what a person sent. Calls nobody but the wire, and writes nothing
    before `may_begin()` said yes.
    """

    async def upload(self, call: FileCall, file: File, wire: WirePort) -> str: ...

    async def download(self, call: FileCall, file_id: str, wire: WirePort) -> bytes: ...


class Outbound(Protocol):
    """O1. `perform` writes nothing before `may_begin()` said yes, and calls nobody but the wire.
    O2. The provider's code decides; without one, only `NotSent` of the wire is Deferred, and everything else is
        Uncertain.
    O3. The effect's id travels with the call, where the provider echoes it or drops repeats by it.
    """

    name: str

    def actions(self) -> Mapping[str, Repeatability]:
        """The actions that this connector performs (`http`), each with what a repeat does."""
        ...

    def shape(self, channel: Channel, whom: Whom, action: str | None, value: object) -> Shaped:
        """What is to be sent when a handler asks for `action` with `value`, or (None) replies with it. Raises
        `BadRequest` for what cannot be sent now or ever, and says what could be asked for instead.
        """
        ...

    def terms(self, settings: Mapping[str, Setting], action: str) -> Terms:
        """How an effect of a channel with these settings is to be sent. Raises `Misconfigured`."""
        ...

    def check_payload(self, action: str, payload: bytes) -> None:
        """Raise `BadRequest` for what the provider could never take: it then fails in the handler, not in the
        outbox.
        """
        ...

    def pace(self, channel: Channel) -> Pace | None:
        """How often the provider lets this channel send. None: as often as one likes."""
        ...

    async def perform(self, call: Call, wire: WirePort) -> Verdict: ...

    async def probe(self, call: Call, wire: WirePort) -> Verdict:
        """PROBED actions only: Confirmed, Absent, or Uncertain."""
        ...
