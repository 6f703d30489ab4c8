"""Who is inside: every open connection, how many of each address, and how much of their bodies is held in memory."""

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from procession.ingress.http_limits import HttpLimits

Guest = TypeVar("Guest")


class House(Generic[Guest]):
    def __init__(self, limits: HttpLimits, on_empty: Callable[[], None]) -> None:
        self._limits = limits
        self._on_empty = on_empty
        self._guests: dict[Guest, str] = {}
        self._of_address: Counter[str] = Counter()
        self._bodies_bytes = 0
        self.is_closing = False
        self.turned_away = 0

    def __len__(self) -> int:
        return len(self._guests)

    def __iter__(self) -> Iterator[Guest]:
        """A copy: guests leave while they are being looked at."""
        return iter(tuple(self._guests))

    def admit(self, guest: Guest, host: str) -> bool:
        address = bucket(host)
        is_full = (
            len(self._guests) >= self._limits.connections_max
            or self._of_address[address] >= self._limits.connections_per_ip_max
        )
        if is_full or self.is_closing:
            self.turned_away += 1
            self._forget_if_none(address)
            return False
        self._guests[guest] = address
        self._of_address[address] += 1
        return True

    def leave(self, guest: Guest) -> None:
        address = self._guests.pop(guest, None)
        if address is None:
            return
        self._of_address[address] -= 1
        self._forget_if_none(address)
        if not self._guests:
            self._on_empty()

    def take_room(self, body_bytes: int) -> bool:
        if self._bodies_bytes + body_bytes > self._limits.bodies_bytes_max:
            return False
        self._bodies_bytes += body_bytes
        return True

    def give_back(self, body_bytes: int) -> None:
        self._bodies_bytes -= body_bytes

    def _forget_if_none(self, address: str) -> None:
        """Addresses of the past must not pile up."""
        if not self._of_address[address]:
            del self._of_address[address]


def bucket(host: str) -> str:
    """What counts as one address: an IPv6 host commonly owns its whole /64."""
    if ":" not in host:
        return host
    address = ipaddress.IPv6Address(host.partition("%")[0])
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False))
