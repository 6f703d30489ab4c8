"""Where the webhooks go: a loopback address, unless somebody really wants another."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from procession.core.errors import Misconfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    host: str
    port: int
    path: str


def read_target(url: str, *, anywhere: bool = False) -> Target:
    """Raise `Misconfigured` for what is no http URL, or leads away from this machine."""
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError as wrong:
        raise Misconfigured(f"the target {url!r} is no URL: {wrong}") from None
    if parts.scheme != "http" or not parts.hostname:
        raise Misconfigured(f"the target is written like http://127.0.0.1:8080/hooks/meta, not {url!r}")
    if not anywhere and not _is_loopback(parts.hostname):
        raise Misconfigured(
            f"{parts.hostname} is not this machine: the simulation posts thousands of signed deliveries, which must "
            "not reach an engine that serves real people. If this one does not, add --anywhere"
        )
    return Target(host=parts.hostname, port=port, path=parts.path or "/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
