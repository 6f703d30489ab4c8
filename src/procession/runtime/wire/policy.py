"""Where a tenant's URL may lead.

A tenant writes the URL, we make the call from inside our network: without a fence that is a key to everything that
listens there. Names lie, so what counts is the address. All addresses of a name are judged, and the connection goes
to one that was judged, never to the name again.

Public means: a unicast address that the special-purpose registries of IANA do not set apart. For IPv6 that is
2000::/3 less the exceptions, which leaves out v4-mapped, NAT64, ULA and link-local addresses without naming them.
Some of what is not public can be opened by the operator (the private networks); the rest never can: it either hides a
second address inside the first (mapped, NAT64, 6to4, Teredo), or hands out a cloud machine's credentials.
"""

from collections.abc import Container
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

from procession.core.errors import Misconfigured

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def _networks(*spelled: str) -> tuple[Network, ...]:
    return tuple(ip_network(each) for each in spelled)


OPENABLE: Final = _networks(
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",  # shared by carriers (CGNAT)
    "127.0.0.0/8",
    "169.254.0.0/16",
    "198.18.0.0/15",  # benchmarks
    "::1/128",
    "fc00::/7",
    "fe80::/10",
)
"""What an operator may open: networks of one's own."""

METADATA: Final = _networks(
    "169.254.169.254/32",  # AWS, Azure, Google and most others
    "169.254.170.2/32",  # AWS, containers
    "169.254.170.23/32",  # AWS, pods
    "100.100.100.200/32",  # Alibaba
    "168.63.129.16/32",  # Azure's host, a public address by its looks
    "192.0.0.192/32",  # Oracle
    "fd00:ec2::254/128",  # AWS
    "fd00:ec2::23/128",  # AWS, pods
    "fd20:ce::254/128",  # Google
)
"""Where clouds hand out credentials: closed even inside an opened network."""

_UNICAST_V6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC: Final = (
    *OPENABLE,
    *METADATA,
    *_networks(
        "0.0.0.0/8",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressPolicy:
    """Public addresses over https on the listed ports; listed private networks too, there also over plain http."""

    allow_private: tuple[Network, ...] = ()
    ports: Container[int] = frozenset({443})
    """Of every call, private ones too: an opened network has a Redis at its port 6379. `range(1, 65536)` opens all."""

    def __post_init__(self) -> None:
        for network in self.allow_private:
            if not any(_within(network, openable) for openable in OPENABLE):
                raise Misconfigured(
                    f"allow_private: {network} is not inside a private network; "
                    f"what can be opened: {', '.join(map(str, OPENABLE))}"
                )

    def allows(self, address: Address, *, encrypted: bool) -> bool:
        if any(address in network for network in METADATA):
            return False
        if any(address in network for network in self.allow_private):
            return True
        return encrypted and is_public(address)

    def allows_origin(self, *, encrypted: bool, port: int) -> bool:
        """What can be refused before any name is looked up."""
        return port in self.ports and (encrypted or bool(self.allow_private))


def is_public(address: Address) -> bool:
    if address.version == 6 and address not in _UNICAST_V6:
        return False
    return not any(address in network for network in _NOT_PUBLIC)


def _within(network: Network, outer: Network) -> bool:
    if isinstance(network, IPv4Network):
        return isinstance(outer, IPv4Network) and network.subnet_of(outer)
    return isinstance(outer, IPv6Network) and network.subnet_of(outer)
