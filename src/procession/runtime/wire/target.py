"""From a URL to where it leads.

A URL that two programs can read in two ways is how a checked host becomes another one. So only URLs with one reading
pass, and the rest is refused rather than repaired: no userinfo, no fragment, no backslash, no space, no letters
beyond ASCII (an IDN comes as its xn-- form), no trailing dot, no zone, no numeric host but the canonical four bytes
(not 127.1, 0x7f000001, 2130706433).
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final, NamedTuple

from procession.ports.wire import NotSent, Unsent
from procession.runtime.wire.policy import Address

_URL: Final = re.compile(
    r"(?P<scheme>https?)://"
    r"(?:\[(?P<v6>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9._-]{1,253}))"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[^?]*)?"
    r"(?P<query>\?.*)?",
    re.ASCII | re.IGNORECASE,
)
_UNREADABLE: Final = re.compile(r"[^\x21-\x7e]|[\\#]")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_PORTS: Final = {"http": 80, "https": 443}
_URL_CHARS_MAX: Final = 8_192


class Origin(NamedTuple):
    """Whom a connection belongs to: it is reused for nothing else."""

    encrypted: bool
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    origin: Origin
    address: Address | None
    """Where the host is an address itself."""
    authority: str
    """What the Host header says."""
    path: str = field(repr=False)
    """With the query; either may be a secret, as in n8n's webhook URLs."""


@lru_cache(maxsize=1_024)
def read_url(url: str) -> Target | NotSent:
    """The URL's target. Remembered, since a channel calls one URL again and again."""
    match = None if len(url) > _URL_CHARS_MAX or _UNREADABLE.search(url) else _URL.fullmatch(url)
    if match is None:
        return _refused("not a plain http or https URL")
    scheme = match["scheme"].lower()
    port = int(match["port"]) if match["port"] else _PORTS[scheme]
    if not 0 < port < 65_536:
        return _refused("no such port")
    host = (match["v6"] or match["name"]).lower()
    address = _literal(host, bracketed=match["v6"] is not None)
    if address is None and not _is_name(host):
        return _refused("a host with more than one reading")
    shown = f"[{address}]" if isinstance(address, IPv6Address) else host
    return Target(
        origin=Origin(scheme == "https", str(address) if address else host, port),
        address=address,
        authority=shown if port == _PORTS[scheme] else f"{shown}:{port}",
        path=(match["path"] or "/") + (match["query"] or ""),
    )


def _literal(host: str, *, bracketed: bool) -> Address | None:
    try:
        return IPv6Address(host) if bracketed else IPv4Address(host)
    except AddressValueError:
        return None


def _is_name(host: str) -> bool:
    labels = host.split(".")
    # A last label that is a number makes resolvers read the whole as an address, each in its own way.
    return all(map(_LABEL.fullmatch, labels)) and not _NUMBER.fullmatch(labels[-1])


def _refused(detail: str) -> NotSent:
    return NotSent(reason=Unsent.URL_REFUSED, detail=detail)
