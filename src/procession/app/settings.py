"""Every setting: its name, what it may be, what it is by itself, and why one would change it.

A setting is called the same everywhere: `outbound.allow_private` in the text, `allow_private` under `[outbound]` in
procession.toml, PROCESSION_OUTBOUND_ALLOW_PRIVATE in the environment, `--set outbound.allow_private=…` as a flag.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from procession.core import limits
from procession.core.errors import Misconfigured
from procession.ingress.http_limits import HttpLimits

Network = IPv4Network | IPv6Network
Value = str | int | timedelta | tuple[str, ...] | tuple[int, ...] | tuple[range, ...] | tuple[Network, ...]
"""What a setting is once it is read."""


class Role(StrEnum):
    """What an engine does; without `only`, everything."""

    INGRESS = "ingress"
    LANES = "lanes"
    OUTBOX = "outbox"
    UPKEEP = "upkeep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    name: str
    read: Callable[[object], Value]
    """From what TOML holds, or the text of the environment or a flag; ValueError says what it should be."""
    default: str
    """As it would be written."""
    reason: str
    """One line: what it is for, and when to change it."""
    flag: str = ""
    """The command's own option, where it has one."""

    @property
    def variable(self) -> str:
        return "PROCESSION_" + self.name.replace(".", "_").upper()


# --- reading ---

FOLDER: Final = "procession-data"
SQLITE_FILE: Final = "procession.db"
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_CHARS_MAX: Final = 20
_PORTS: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
POSTGRES: Final = ("postgresql://", "postgres://")
_STORES: Final = ("memory:", "sqlite:", *POSTGRES, "redis://", "rediss://")
_LEVELS: Final = ("note", "warn", "silent")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it must be text")  # noqa: TRY004 (all readers say what is wrong by ValueError)
    return value


def _store(value: object) -> str:
    text = _text(value)
    if not text.startswith(_STORES) or text == "sqlite:":
        raise ValueError("it must be sqlite:FOLDER, memory:, postgresql://… or redis://…")
    name = text.rpartition("/")[2]
    if text.startswith("sqlite:") and name.endswith((".db", ".sqlite", ".sqlite3")) and name != SQLITE_FILE:
        raise ValueError(f"it must name a folder: the file in it is always {SQLITE_FILE}")
    return text


def _whole(least: int, most: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, str) and value.strip().isdecimal() and len(value) < 12:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"it must be a whole number from {least:,} to {most:,}")
        return value

    return read


def _duration(least: timedelta, most: timedelta) -> Callable[[object], timedelta]:
    def read(value: object) -> timedelta:
        found = duration_of(value)
        if not least <= found <= most:
            raise ValueError(f"it must be a duration from {duration_text(least)} to {duration_text(most)}")
        return found

    return read


def duration_of(value: object) -> timedelta:
    """A number is seconds; ValueError says how it is written."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = repr(value)
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) and len(value) < _CHARS_MAX else None
    if found is None:
        raise ValueError("it must be a duration, like 500ms, 10s, 5m, 2h, 30d")
    return timedelta(seconds=float(found[1]) * _UNITS[found[2] or "s"])


def duration_text(value: timedelta) -> str:
    """As a setting is written: in the largest unit that leaves a whole number."""
    milliseconds = round(value / timedelta(milliseconds=1))
    for unit in ("d", "h", "m", "s"):
        whole = round(_UNITS[unit] * 1000)
        if milliseconds and milliseconds % whole == 0:
            return f"{milliseconds // whole}{unit}"
    return f"{milliseconds}ms" if milliseconds else "0s"


def _several(value: object) -> tuple[str, ...]:
    """A list of TOML, or text with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str | int) for part in parts):
        raise ValueError("it must be a list of texts")
    return tuple(str(part).strip() for part in parts)


def _given(value: object) -> tuple[str, ...]:
    return tuple(part for part in _several(value) if part)


def _roles(value: object) -> tuple[str, ...]:
    roles = _given(value)
    if not roles or not set(roles) <= set(Role):
        raise ValueError(f"it must be one or more of {', '.join(Role)}")
    return roles


def _networks(value: object) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(part) for part in _given(value))
    except ValueError:
        raise ValueError("it must be a list of networks, like 10.0.0.0/8 or 127.0.0.1/32") from None


def _ports(value: object) -> tuple[range, ...]:
    found = [_PORTS.fullmatch(part) for part in _given(value)]
    spans = [(int(each[1]), int(each[2] or each[1])) for each in found if each is not None]
    if not spans or len(spans) < len(found) or not all(1 <= low <= high <= 65535 for low, high in spans):
        raise ValueError("it must be a list of ports, like 443 or 8000-8999")
    return tuple(range(low, high + 1) for low, high in spans)


def _level(value: object) -> str:
    if value not in _LEVELS:
        raise ValueError(f"it must be one of {', '.join(_LEVELS)}")
    return str(value)


# --- the table ---

_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)
_HTTP: Final = HttpLimits()


def _http_duration(name: str, reason: str) -> Setting:
    return Setting(
        name=f"http.{name}",
        read=_duration(timedelta(milliseconds=100), timedelta(minutes=10)),
        default=duration_text(getattr(_HTTP, name)),
        reason=reason,
    )


def _http_count(name: str, most: int, reason: str) -> Setting:
    return Setting(name=f"http.{name}", read=_whole(1, most), default=str(getattr(_HTTP, name)), reason=reason)


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        name="store",
        read=_store,
        default=f"sqlite:{FOLDER}",
        reason="where events, lanes and effects are kept: `sqlite:FOLDER`, `postgresql://…`; `memory:` keeps nothing",
        flag="--store",
    ),
    Setting(
        name="data",
        read=_text,
        default="",
        reason="folder of the master key and the control socket; empty: that of the SQLite file, else procession-data",
        flag="--data",
    ),
    Setting(
        name="app",
        read=_text,
        default="",
        reason="the application that plays the turns, as `module:name`; empty: turns wait",
        flag="serve's argument",
    ),
    Setting(
        name="host",
        read=_text,
        default="127.0.0.1",
        reason="the address to listen on; 0.0.0.0 to be reached from other machines without a proxy",
        flag="--host",
    ),
    Setting(
        name="port",
        read=_whole(0, 65535),
        default="8080",
        reason="the port to listen on; 0 takes a free one and prints it",
        flag="--port",
    ),
    Setting(
        name="only",
        read=_roles,
        default=",".join(Role),
        reason="the roles of this process: to run ingress, lanes, outbox and upkeep apart",
        flag="--only",
    ),
    Setting(
        name="pools",
        read=_several,
        default="",
        reason="the pools of tenants that this process plays, with commas; the empty name is the pool of those in none",
        flag="--pools",
    ),
    Setting(
        name="slots",
        read=_whole(1, 10_000),
        default=str(limits.SLOTS),
        reason="turns in flight in this process; raise it when handlers mostly wait for models",
        flag="--slots",
    ),
    Setting(
        name="threads_max",
        read=_whole(1, 1_000),
        default=str(limits.THREADS_MAX),
        reason="threads for handlers that are plain functions",
    ),
    Setting(
        name="sends_max",
        read=_whole(1, 10_000),
        default=str(limits.SENDS_MAX),
        reason="sends in flight in this process",
    ),
    Setting(
        name="lease",
        read=_duration(_SECOND, timedelta(minutes=10)),
        default=duration_text(limits.LEASE_TTL),
        reason="how long a dead worker's lanes stay with it; longer where processes are paused for seconds",
        flag="--lease",
    ),
    Setting(
        name="drain_wait",
        read=_duration(timedelta(0), timedelta(hours=1)),
        default=duration_text(limits.DRAIN_WAIT),
        reason="how long a stopping process waits for its turns and sends; shorter than your supervisor's patience",
        flag="--drain-wait",
    ),
    Setting(
        name="keep",
        read=_duration(limits.DEDUP_KEEP_MIN, 3650 * _DAY),
        default=duration_text(limits.DEDUP_KEEP),
        reason="how long settled events stay, and with them the memory of their ids by which repeats are dropped",
    ),
    Setting(
        name="log",
        read=_level,
        default="warn",
        reason="what goes to standard error, one JSON object a line: `note` everything, `warn`, or `silent`",
        flag="--log",
    ),
    Setting(
        name="outbound.allow_private",
        read=_networks,
        default="",
        reason="private networks that sends may reach, also over plain http: an n8n beside you, never clouds' metadata",
        flag="--allow-private",
    ),
    Setting(
        name="outbound.ports",
        read=_ports,
        default="443",
        reason="ports that sends may reach, also in private networks: one may hold your Redis",
        flag="--outbound-ports",
    ),
    _http_duration("head_ttl", "from a connection, or a request's first byte, to the end of its head"),
    _http_duration("body_ttl", "from the end of the head to the end of the body"),
    _http_duration("request_ttl", "from a request's first byte to its answer's last, also where the peer reads slowly"),
    _http_duration("idle_ttl", "between two requests: longer than your proxy's own, so that the proxy closes first"),
    _http_count("body_bytes_max", limits.BODY_BYTES_MAX, "of one delivery: lower it where no source sends so much"),
    _http_count(
        "bodies_bytes_max", 16 * 1024**3, "of all large bodies held at one moment: what slow peers may cost in memory"
    ),
    _http_count("connections_max", 65_536, "in all; more need more file descriptors (`ulimit -n`)"),
    _http_count("connections_per_ip_max", 65_536, "of one address: raise it to `http.connections_max` behind a proxy"),
)

BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


def read_value(setting: Setting, value: object, origin: str) -> Value:
    try:
        return setting.read(value)
    except ValueError as error:
        # The value is not repeated: a store's URL may hold a password.
        raise Misconfigured(f"{setting.name} ({origin}): {error}") from None
