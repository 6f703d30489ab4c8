"""From a target to an open connection: resolve once, judge every address, connect to one that was judged."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Final, Protocol

from procession.core.errors import Misconfigured
from procession.ports.wire import NotSent, Unsent
from procession.runtime.wire.connection import Connection
from procession.runtime.wire.limits import WireLimits
from procession.runtime.wire.policy import Address, AddressPolicy
from procession.runtime.wire.target import Target


class Resolve(Protocol):
    """Looks a name up: all of its addresses, in order of preference. Raises OSError where there are none."""

    async def __call__(self, host: str, port: int) -> Sequence[str]: ...


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for _, _, _, _, sockaddr in found]


def verifying_context() -> ssl.SSLContext:
    """TLS 1.2 or newer, the system's certificate authorities, host names checked."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


class Dialer:
    def __init__(
        self, *, policy: AddressPolicy, limits: WireLimits, resolve: Resolve, tls: ssl.SSLContext | None
    ) -> None:
        self._policy = policy
        self._limits = limits
        self._resolve = resolve
        self._tls: Final = tls or verifying_context()
        if self._tls.verify_mode is not ssl.CERT_REQUIRED or not self._tls.check_hostname:
            raise Misconfigured("tls: the context must verify certificates and host names")

    async def dial(
        self, target: Target, *, deadline: float, lost: Callable[[Connection], None]
    ) -> Connection | NotSent:
        """An open connection. Whatever goes wrong here, nothing was sent."""
        phase = "looking up the name"
        try:
            async with asyncio.timeout_at(deadline):
                addresses = await self._addresses(target)
                if isinstance(addresses, NotSent):
                    return addresses
                phase = "connecting"
                sock = await self._connect(addresses, target.origin.port)
                if isinstance(sock, NotSent):
                    return sock
                phase = "TLS handshake"
                return await self._attach(sock, target, lost)
        except TimeoutError:
            return NotSent(reason=Unsent.OUT_OF_TIME, detail=phase)

    async def _addresses(self, target: Target) -> list[Address] | NotSent:
        if target.address is not None:
            addresses = [target.address]
        else:
            try:
                found = await self._resolve(target.origin.host, target.origin.port)
            except (OSError, UnicodeError) as error:
                return NotSent(reason=Unsent.NAME_UNKNOWN, detail=_name_of(error))
            if not found:
                return NotSent(reason=Unsent.NAME_UNKNOWN)
            try:
                addresses = [ip_address(each) for each in dict.fromkeys(found)]
            except ValueError:
                return NotSent(reason=Unsent.ADDRESS_REFUSED, detail=target.origin.host)
        # All of them: a name that mixes public and private addresses is an attack or a mistake.
        if not all(self._policy.allows(each, encrypted=target.origin.encrypted) for each in addresses):
            return NotSent(reason=Unsent.ADDRESS_REFUSED, detail=target.origin.host)
        return addresses

    async def _connect(self, addresses: Sequence[Address], port: int) -> socket.socket | NotSent:
        refusal = NotSent(reason=Unsent.UNREACHABLE)
        for address in addresses[: self._limits.addresses_max]:
            try:
                return await self._connect_to(address, port)
            except OSError as error:  # TimeoutError is one
                refusal = NotSent(reason=Unsent.UNREACHABLE, detail=_name_of(error))
        return refusal

    async def _connect_to(self, address: Address, port: int) -> socket.socket:
        sock = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(self._limits.connect_time_max.total_seconds()):
                await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
        except BaseException:
            sock.close()
            raise
        return sock

    async def _attach(
        self, sock: socket.socket, target: Target, lost: Callable[[Connection], None]
    ) -> Connection | NotSent:
        origin = target.origin
        connection = Connection(origin=origin, sock=sock, limits=self._limits, lost=lost)
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: connection,
                sock=sock,
                ssl=self._tls if origin.encrypted else None,
                server_hostname=origin.host if origin.encrypted else None,
            )
        except OSError as error:  # ssl.SSLError is one
            return NotSent(reason=Unsent.TLS_FAILED, detail=_name_of(error))
        except BaseException:
            connection.abort()  # the loop closes it too, but with a farewell that it waits for
            raise
        return connection


def _name_of(error: OSError | UnicodeError) -> str:
    """What an operator can search for. Not the text: it could quote what was asked."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(error.verify_message)
    if isinstance(error, ssl.SSLError):
        return str(error.reason or type(error).__name__)
    if isinstance(error, socket.gaierror):
        return next((name for name in _LOOKUP_ERRORS if getattr(socket, name, None) == error.errno), "EAI")
    if isinstance(error, OSError) and error.errno is not None:
        return errno.errorcode.get(error.errno, "OSError")
    return type(error).__name__


_LOOKUP_ERRORS: Final = ("EAI_NONAME", "EAI_AGAIN", "EAI_NODATA", "EAI_FAIL", "EAI_FAMILY", "EAI_SYSTEM")
