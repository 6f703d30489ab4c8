"""The settings of this process, and where each came from: defaults, procession.toml, environment, flags; later wins."""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar, cast

from procession.app.settings import (
    BY_NAME,
    FOLDER,
    POSTGRES,
    SETTINGS,
    SQLITE_FILE,
    Network,
    Role,
    Setting,
    Value,
    duration_text,
    read_value,
)
from procession.core.errors import Misconfigured
from procession.ingress.http_limits import HttpLimits

FILE: Final = "procession.toml"
_PREFIX: Final = "PROCESSION_"
_NOT_SETTINGS: Final = frozenset(
    {
        "PROCESSION_MASTER_KEY",
        "PROCESSION_MASTER_KEY_OLD",
        "PROCESSION_MASTER_KEY_COMMAND",
        "PROCESSION_CRASHPOINT",
    }
)
"""Read elsewhere: the vault's keys, no settings since they must not be shown, and the proof's crash points."""
_NEAR: Final = 0.8
"""A variable of the environment that is so like one of ours was meant to be it. Others may be somebody else's."""
_PASSWORD: Final = re.compile(r"(?<=//)([^/@]*):([^/@]*)@")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One setting as it is."""

    value: Value
    origin: str


class Config:
    """All settings of a process, each read and checked."""

    def __init__(self, found: Mapping[str, Found]) -> None:
        self._found = dict(found)

    def __iter__(self) -> Iterator[tuple[Setting, Found]]:
        return ((setting, self._found[setting.name]) for setting in SETTINGS)

    def in_memory(self) -> "Config":
        """The same, on a store that keeps nothing."""
        return Config({**self._found, "store": Found(value="memory:", origin="for this command")})

    def _get(self, name: str, kind: type[V]) -> V:
        value = self._found[name].value
        assert isinstance(value, kind)
        return value

    @property
    def store(self) -> str:
        return self._get("store", str)

    @property
    def shown_store(self) -> str:
        return shown(BY_NAME["store"], self._found["store"])

    @property
    def sqlite_folder(self) -> Path | None:
        """The folder of the SQLite file; None, if the store is another."""
        kind, _, place = self.store.partition(":")
        if kind != "sqlite":
            return None
        path = Path(place)
        return path.parent if path.name == SQLITE_FILE else path

    @property
    def database(self) -> str | None:
        """The address of the Postgres database; None, if the store is another."""
        return self.store if self.store.startswith(POSTGRES) else None

    @property
    def folder(self) -> Path:
        """Of the master key and the control socket."""
        chosen = self._get("data", str)
        if chosen:
            return Path(chosen)
        return self.sqlite_folder if self.sqlite_folder is not None else Path(FOLDER)

    @property
    def app(self) -> str:
        return self._get("app", str)

    @property
    def host(self) -> str:
        return self._get("host", str)

    @property
    def port(self) -> int:
        return self._get("port", int)

    @property
    def roles(self) -> frozenset[Role]:
        return frozenset(Role(role) for role in self._get("only", tuple))

    @property
    def roles_were_chosen(self) -> bool:
        return self._found["only"].origin != "default"

    @property
    def pools(self) -> frozenset[str]:
        return frozenset(self._get("pools", tuple)) or frozenset({""})

    @property
    def slots(self) -> int:
        return self._get("slots", int)

    @property
    def threads_max(self) -> int:
        return self._get("threads_max", int)

    @property
    def sends_max(self) -> int:
        return self._get("sends_max", int)

    @property
    def lease(self) -> timedelta:
        return self._get("lease", timedelta)

    @property
    def drain_wait(self) -> timedelta:
        return self._get("drain_wait", timedelta)

    @property
    def keep(self) -> timedelta:
        return self._get("keep", timedelta)

    @property
    def log(self) -> str:
        return self._get("log", str)

    @property
    def allow_private(self) -> tuple[Network, ...]:
        return cast("tuple[Network, ...]", self._get("outbound.allow_private", tuple))

    @property
    def outbound_ports(self) -> tuple[range, ...]:
        return cast("tuple[range, ...]", self._get("outbound.ports", tuple))

    @property
    def http(self) -> HttpLimits:
        ours = {setting.name.removeprefix("http."): found.value for setting, found in self if "http." in setting.name}
        limits = HttpLimits()
        values = {field.name: ours.get(field.name, getattr(limits, field.name)) for field in fields(limits)}
        values["drain_ttl"] = min(limits.drain_ttl, max(self.drain_wait, timedelta(milliseconds=1)))
        return HttpLimits(**values)


def shown(setting: Setting, found: Found) -> str:
    """A value as it would be written, without passwords."""
    value = found.value
    if isinstance(value, timedelta):
        return duration_text(value)
    if isinstance(value, tuple):
        return ",".join(_span(part) if isinstance(part, range) else str(part) for part in value)
    return _PASSWORD.sub(r"\1:***@", str(value)) if setting.name == "store" else str(value)


def _span(ports: range) -> str:
    return str(ports[0]) if len(ports) == 1 else f"{ports[0]}-{ports[-1]}"


# --- loading ---


def load(
    flags: Mapping[str, object] | None = None,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """The settings of this working directory, environment and command line. `Misconfigured`, if any is wrong."""
    found = {
        setting.name: Found(value=read_value(setting, setting.default, "default"), origin="default")
        for setting in SETTINGS
    }
    for layer in (
        _of_file((folder or Path()) / FILE),
        _of_environment(os.environ if environment is None else environment),
        _of_flags(flags or {}),
    ):
        for setting, value, origin in layer:
            found[setting.name] = Found(value=read_value(setting, value, origin), origin=origin)
    return Config(found)


Layer = Iterable[tuple[Setting, object, str]]


def _of_file(path: Path) -> Layer:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Misconfigured(f"{path} cannot be read: {error}") from None
    for name, value in _flat(document, ""):
        yield known(name, path.name), value, path.name


def _flat(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _of_environment(environment: Mapping[str, str]) -> Layer:
    by_variable = {setting.variable: setting for setting in SETTINGS}
    for variable, value in environment.items():
        if not variable.startswith(_PREFIX) or variable in _NOT_SETTINGS:
            continue
        if variable in by_variable:
            yield by_variable[variable], value, f"environment {variable}"
            continue
        near = difflib.get_close_matches(variable, [*by_variable, *_NOT_SETTINGS], n=1, cutoff=_NEAR)
        if near:
            raise Misconfigured(f"the environment has {variable}, which is no setting: did you mean {near[0]}?")


def _of_flags(flags: Mapping[str, object]) -> Layer:
    for name, value in flags.items():
        setting = known(name, "flag")
        yield setting, value, f"flag {setting.flag or '--set'}"


def known(name: str, where: str) -> Setting:
    """The setting of this name; else `Misconfigured`, with what it may have been meant to be."""
    if name in BY_NAME:
        return BY_NAME[name]
    near = difflib.get_close_matches(name, BY_NAME, n=1)
    hint = f": did you mean {near[0]!r}?" if near else ": `procession config` lists what there is"
    raise Misconfigured(f"{where}: there is no setting {name!r}{hint}")
