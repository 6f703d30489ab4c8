"""The real wire: HTTP/1.1 over asyncio, with an exact answer to the question whether anything went out."""

from procession.runtime.wire.client import Wire
from procession.runtime.wire.limits import WireLimits
from procession.runtime.wire.policy import AddressPolicy

__all__ = ["AddressPolicy", "Wire", "WireLimits"]
