"""Reads `procession apply -f FILE`: tables of TOML become a plan; secrets come from wherever the file says.

    [[tenant]]                          [[endpoint]]                         [[channel]]
    name = "acme"                       name = "shop"                        tenant = "acme"
    weight = 2                          connector = "plain"                  endpoint = "shop"
    lanes_max = 20                      signing = [{ env = "SHOP_SECRET" }]  lane = "/order/id"

A secret is never written into the file: only { env = "NAME" }, { file = "path" } or { stdin = true }. A literal is
refused, and not repeated in the error, since errors end up in logs.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final

from procession.app.plan import Plan, PlannedChannel, PlannedEndpoint
from procession.core.errors import Misconfigured
from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.directory import Setting, Tenant

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KINDS: Final = ("tenant", "endpoint", "channel")
_REFERENCES: Final = ("env", "file", "stdin")
_HOW: Final = 'write { env = "NAME" }, { file = "path" } or { stdin = true }'
_WEIGHT_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where references lead to."""

    folder: Path
    """Relative paths of files are meant from here: the folder of the declaration."""
    environment: Mapping[str, str]
    stdin: Callable[[], bytes]
    """Read at most once."""


def read_declared(text: str, sources: Sources) -> Plan:
    """`Misconfigured` names the table, the key, and what to write."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Misconfigured(f"the declaration is not TOML: {error}") from None
    return read_document(document, sources)


def read_document(
    document: Mapping[str, object], sources: Sources, known: Mapping[EndpointName, str] = MappingProxyType({})
) -> Plan:
    """The same of a parsed declaration. `known`: endpoints that are there already, with their connectors; they need not
    be told again what signs.
    """
    _check_keys(document, _KINDS, "the declaration")
    secrets = _Secrets(sources)
    tenants = tuple(_tenant(table) for table in _tables(document, "tenant"))
    endpoints = tuple(_endpoint(table, secrets, known) for table in _tables(document, "endpoint"))
    connectors = {**known, **{endpoint.name: endpoint.connector for endpoint in endpoints}}
    channels = tuple(_channel(table, secrets, connectors) for table in _tables(document, "channel"))
    _check_twice("tenant", [tenant.id for tenant in tenants])
    _check_twice("endpoint", [endpoint.name for endpoint in endpoints])
    _check_twice("channel", [f"{channel.tenant}/{channel.name}" for channel in channels])
    return Plan(tenants=tenants, endpoints=endpoints, channels=channels)


class _Table:
    """One table of the file, taken apart key by key; what is left over are settings of the connector."""

    def __init__(self, where: str, values: Mapping[str, object]) -> None:
        self.where = where
        self._left = dict(values)

    def name(self, key: str, default: str | None = None) -> str:
        value = self._left.pop(key, default)
        if value is None:
            raise Misconfigured(f"{self.where} has no {key!r}")
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            raise Misconfigured(f"{self.where}: {key} must be a name of letters, digits, '.', '_' and '-', up to 64")
        return value

    def has(self, key: str) -> bool:
        return key in self._left

    def text(self, key: str) -> str:
        value = self._left.pop(key, "")
        if not isinstance(value, str):
            raise Misconfigured(f"{self.where}: {key} must be text")
        return value

    def whole(self, key: str, default: int | None, most: int) -> int | None:
        value = self._left.pop(key, default)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most):
            raise Misconfigured(f"{self.where}: {key} must be a whole number from 1 to {most:,}")
        return value

    def truth(self, key: str, *, default: bool) -> bool:
        value = self._left.pop(key, default)
        if not isinstance(value, bool):
            raise Misconfigured(f"{self.where}: {key} must be true or false")
        return value

    def secrets(self, key: str) -> tuple[object, ...]:
        value = self._left.pop(key, ())
        return tuple(value) if isinstance(value, list | tuple) else (value,)

    def references(self) -> dict[str, object]:
        """Further secrets: whatever is written as a reference."""
        found: dict[str, object] = {key: value for key, value in self._left.items() if isinstance(value, dict)}
        for key in found:
            del self._left[key]
        return found

    def settings(self) -> dict[str, Setting]:
        return {key: self._setting(key, value) for key, value in self._left.items()}

    def end(self, known: Iterable[str]) -> None:
        _check_keys(self._left, known, self.where)

    def _setting(self, key: str, value: object) -> Setting:
        if isinstance(value, str | int | float | bool):
            return value
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            return tuple(value)
        raise Misconfigured(f"{self.where}: {key} must be text, a number, true or false, or a list of texts")


class _Secrets:
    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._stdin_used = False

    def read(self, where: str, reference: object) -> bytes:
        if not isinstance(reference, dict) or len(reference) != 1 or next(iter(reference)) not in _REFERENCES:
            raise Misconfigured(f"{where} is written out, or no reference to a secret: {_HOW}")
        ((how, place),) = reference.items()
        match how, place:
            case "env", str():
                plain = self._of_environment(where, place)
            case "file", str():
                plain = self._of_file(where, place)
            case "stdin", True:
                plain = self._of_stdin(where)
            case _:
                raise Misconfigured(f"{where}: {how} does not say where: {_HOW}")
        if not plain:
            raise Misconfigured(f"{where}: the secret is empty there")
        return plain

    def _of_environment(self, where: str, name: str) -> bytes:
        if name not in self._sources.environment:
            raise Misconfigured(f"{where}: the environment has no {name}")
        return self._sources.environment[name].encode("utf-8", "surrogateescape")

    def _of_file(self, where: str, name: str) -> bytes:
        path = self._sources.folder / name
        try:
            return _without_line_end(path.read_bytes())
        except OSError as error:
            raise Misconfigured(f"{where}: {path} cannot be read: {error.strerror or error}") from None

    def _of_stdin(self, where: str) -> bytes:
        if self._stdin_used:
            raise Misconfigured(f"{where}: a second secret from standard input: there is one, use env or file")
        self._stdin_used = True
        return _without_line_end(self._sources.stdin())


def _without_line_end(plain: bytes) -> bytes:
    """Editors and `echo` end a line; no secret does."""
    return plain.removesuffix(b"\n").removesuffix(b"\r")


def _tables(document: Mapping[str, object], kind: str) -> Iterable[_Table]:
    tables = document.get(kind, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise Misconfigured(f"{kind} must be written as [[{kind}]]")
    for number, table in enumerate(tables, 1):
        name = table.get("name")
        yield _Table(f"{kind} {name if isinstance(name, str) and _NAME.fullmatch(name) else number}", table)


def _tenant(table: _Table) -> Tenant:
    tenant = Tenant(
        id=TenantId(table.name("name")),
        weight=table.whole("weight", 1, _WEIGHT_MAX) or 1,
        lanes_max=table.whole("lanes_max", None, 1_000_000),
        pool=table.text("pool"),
        active=table.truth("active", default=True),
    )
    table.end(("name", "weight", "lanes_max", "pool", "active"))
    return tenant


def _endpoint(table: _Table, secrets: _Secrets, known: Mapping[EndpointName, str]) -> PlannedEndpoint:
    name, connector = table.name("name"), table.name("connector")
    tenant = table.name("tenant") if table.has("tenant") else None
    # WhatsApp's own name for what signs: the secret of the Meta app.
    key = "app_secret" if table.has("app_secret") else "signing"
    signing = [
        secrets.read(f"{table.where}: {key} {number}", reference)
        for number, reference in enumerate(table.secrets(key), 1)
    ]
    if not signing and name not in known:
        raise Misconfigured(f"{table.where} has no 'signing': nobody could prove to be the source; {_HOW}")
    further = {key: secrets.read(f"{table.where}: {key}", value) for key, value in table.references().items()}
    return PlannedEndpoint(
        name=EndpointName(name),
        connector=connector,
        tenant=None if tenant is None else TenantId(tenant),
        signing=tuple(signing),
        secrets=further,
        settings=table.settings(),
    )


def _channel(table: _Table, secrets: _Secrets, connectors: Mapping[EndpointName, str]) -> PlannedChannel:
    tenant, endpoint = table.name("tenant"), EndpointName(table.name("endpoint"))
    name = table.name("name", endpoint)
    if endpoint not in connectors:
        raise Misconfigured(f"{table.where}: there is no endpoint {endpoint!r}{_near(endpoint, connectors)}")
    where = f"channel {tenant}/{name}"
    signing = table.secrets("signing")
    if len(signing) > 1:
        raise Misconfigured(f"{where}: signing is one secret here: what is sent is signed once")
    opened = {"signing": secrets.read(f"{where}: signing", signing[0])} if signing else {}
    opened |= {key: secrets.read(f"{where}: {key}", value) for key, value in table.references().items()}
    return PlannedChannel(
        tenant=TenantId(tenant),
        name=ChannelName(name),
        endpoint=endpoint,
        connector=table.name("connector", connectors[endpoint]),
        account=table.text("account"),
        active=table.truth("active", default=True),
        secrets=opened,
        settings=table.settings(),
    )


def _check_keys(table: Mapping[str, object], known: Iterable[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise Misconfigured(f"{where} has no {key!r}{_near(key, known)}; it has: {', '.join(known)}")


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _check_twice(kind: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise Misconfigured(f"{kind} {name} is there twice")
