"""What one peer may ask of the server: every bound with its unit and its reason."""

from dataclasses import dataclass
from datetime import timedelta

from procession.core.limits import BODY_BYTES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Bounds of the server. Each deadline is absolute: a byte that arrives does not move it."""

    head_ttl: timedelta = timedelta(seconds=5)
    """From the connection, or from the first byte of a later request, to the end of its head."""
    body_ttl: timedelta = timedelta(seconds=10)
    """From the end of the head to the end of the body: 3 MB at 2.5 Mbit/s."""
    request_ttl: timedelta = timedelta(seconds=15)
    """From the first byte of a request to the last byte of its answer, also where the peer reads slowly."""
    idle_ttl: timedelta = timedelta(seconds=75)
    """Between two requests: longer than the 60 s of usual proxies, so that they close first and no request meets a
    closed door."""
    linger_ttl: timedelta = timedelta(seconds=2)
    """After a last answer: how long the peer may take to read it and to close before the connection is reset."""
    drain_ttl: timedelta = timedelta(seconds=10)
    """How long a stopping server waits for the requests under way."""
    sweep_every: timedelta = timedelta(milliseconds=250)
    """One look over all connections: so much late may a deadline strike."""

    head_bytes_max: int = 16 * 1024
    """Of a request's head: twice what common proxies let through."""
    head_fields_max: int = 100
    """Of a request's head, and again of the trailers of a chunked body."""
    body_bytes_max: int = BODY_BYTES_MAX
    """Of one body, counted as it arrives, whatever was announced."""
    body_small_bytes: int = 64 * 1024
    """A body up to this always finds room. What is larger takes its room from `bodies_bytes_max`."""
    bodies_bytes_max: int = 64 * 1024 * 1024
    """Of all large bodies held at one moment: without it, a thousand peers with 3 MB each would take 3 GB."""

    connections_max: int = 768
    """In all: leaves a quarter of the usual 1,024 file descriptors to the store and to sends."""
    connections_per_ip_max: int = 256
    """Of one address (IPv6: of one /64). Behind a proxy every peer has the proxy's address: raise it to
    `connections_max`."""
    pipelined_max: int = 32
    """Requests that one connection may have waiting behind the one being answered."""
    write_buffer_bytes_max: int = 64 * 1024
    """Of an answer that the peer does not read: above it the application waits."""
    backlog: int = 1024
    """Connections that the kernel holds until they are accepted."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            positive = value > timedelta(0) if isinstance(value, timedelta) else value > 0
            if not positive:
                raise ValueError(f"{name} must be positive, not {value!r}")
