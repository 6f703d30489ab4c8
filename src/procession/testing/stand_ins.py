"""What stands in for the world while a handler is tried out: time that stands still, and no chance at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from procession.core.effect import Terms
from procession.core.errors import BadRequest, FileFailed, SecretMissing
from procession.core.ids import ChannelName, EventId, TenantId
from procession.ports.bell import Ring
from procession.ports.connector import Whom
from procession.ports.files import Errand, File
from procession.ports.replies import Asked
from procession.ports.vault import SecretName

REPLY = "reply"
"""What a reply is called while no connector says it."""


class ManualClock:
    """Stands still until it is moved."""

    def __init__(self, start: datetime = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)) -> None:
        self._wall = start
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def move(self, by: timedelta) -> None:
        assert by >= timedelta(0), "time goes forward only"
        self._wall += by
        self._monotonic += by.total_seconds()


class NoChance:
    """Always the middle, so that a wait is the same in every run."""

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2

    def token(self, size: int) -> bytes:
        return b"\x2a" * size


class NobodyListens:
    """A bell in a world without stages."""

    def ring(self, ring: Ring) -> None: ...

    async def hear(self, ring: Ring, at_most: timedelta) -> bool:
        raise AssertionError(f"nobody waits for {ring}, {at_most}, while a handler is tried out")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    what: str
    fields: Mapping[str, str | float | bool | None]
    is_warning: bool = False


class Notebook:
    """Telemetry that can be read."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.counts: dict[str, int] = {}

    def count(self, name: str, amount: int = 1, *, tenant: str = "") -> None:
        del tenant
        self.counts[name] = self.counts.get(name, 0) + amount

    def note(self, what: str, /, **fields: str | float | bool | None) -> None:
        self.lines.append(LogLine(what=what, fields=fields))

    def warn(self, what: str, /, **fields: str | float | bool | None) -> None:
        self.lines.append(LogLine(what=what, fields=fields, is_warning=True))


class HeldFiles:
    """A provider's files, by their ids; what is uploaded is kept, and gets the next one."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = dict(files)
        self.uploaded: list[File] = []

    async def upload(self, errand: Errand, file: File) -> str:
        del errand
        self.uploaded.append(file)
        own = f"{len(self.uploaded)}"
        self._files[own] = file.content
        return own

    async def download(self, errand: Errand, file_id: str) -> bytes:
        del errand
        if file_id not in self._files:
            raise FileFailed(f"there is no file {file_id!r}; hand it over: Stage(app, files={{{file_id!r}: b'…'}})")
        return self._files[file_id]


class OpenVault:
    """Secrets that a test hands over."""

    def __init__(self, secrets: Mapping[str, bytes]) -> None:
        self._secrets = dict(secrets)

    async def open(self, tenant: TenantId, name: SecretName) -> bytes:
        if name not in self._secrets:
            raise SecretMissing(
                f"{tenant} has no secret {name!r}; hand it over: Stage(app, secrets={{{name!r}: b'…'}})"
            )
        return self._secrets[name]

    async def open_for(self, tenant: TenantId, name: SecretName, turn: EventId) -> bytes:
        del turn
        return await self.open(tenant, name)

    async def seal(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> bool:
        del tenant, actor
        fresh = self._secrets.get(name) != plain
        self._secrets[name] = plain
        return fresh

    async def forget(self, tenant: TenantId, name: SecretName, actor: str) -> None:
        del tenant, actor
        self._secrets.pop(name, None)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        del tenant
        return tuple((SecretName(name), "") for name in self._secrets)


class AnyReply:
    """Takes every reply and every action as it is: no connector is there to object."""

    def ask(self, tenant: TenantId, channel: ChannelName, whom: Whom, action: str | None, value: object) -> Asked:
        del tenant, channel, whom
        try:
            payload = value if isinstance(value, bytes) else msgspec.json.encode(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise BadRequest(f"a payload is JSON or bytes: {error}") from None
        return Asked(action=action or REPLY, payload=payload, terms=Terms())
