from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class WireLimits:
    """The bounds of one wire."""

    connections_max: int = 256
    """Open connections in all: well below the usual 1,024 file descriptors of a process."""
    connections_per_origin_max: int = 64
    """To one origin: as many as a process has sends in flight, so that a single provider is never the narrow place."""
    waiting_max: int = 1_024
    """Calls that may wait for a connection. Above it a call is told at once, rather than late."""
    idle_ttl: timedelta = timedelta(seconds=4)
    """How long an unused connection is kept. Node, and with it n8n, closes after 5 s: be the first, so that our request
    does not cross its close on the way and end in doubt."""
    age_max: timedelta = timedelta(minutes=5)
    """A connection in steady use is replaced after this, so that a changed name is noticed."""
    connect_time_max: timedelta = timedelta(seconds=5)
    """For one address, so that a dead first address leaves time for the second."""
    addresses_max: int = 4
    """Addresses of one name that are tried in a call. All of them are checked."""
    body_bytes_max: int = 1024 * 1024
    """Of an answer."""
    head_bytes_max: int = 64 * 1024
    """Of an answer's status line and headers, interim answers included."""
    headers_max: int = 256
    """Of one answer, trailers included: five times what the chattiest provider sends."""
