"""What stands behind each endpoint's URL: its connector, its opened secrets, the channels that are bound to it.

Made anew whenever the directory has a new version, so that a request looks up one dictionary. Signing secrets are kept
open here, in this process only: they are needed for every delivery.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from procession.core.errors import Misconfigured, SecretMissing
from procession.core.event import Window
from procession.core.ids import EndpointName, TenantId
from procession.core.limits import DEDUP_KEEP, REDELIVERY_AGE_MAX
from procession.ports.connector import Inbound
from procession.ports.directory import Channel, CollectRule, Directory, Endpoint, Snapshot
from procession.ports.telemetry import Telemetry
from procession.ports.vault import PLATFORM, SecretName, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorOf:
    """One endpoint, ready to receive."""

    endpoint: Endpoint
    connector: Inbound
    secrets: tuple[bytes, ...]
    tokens: Mapping[str, bytes]
    """The endpoint's further secrets, by field."""
    channels: tuple[Channel, ...]


class Doors:
    """The newest version of all endpoints."""

    def __init__(
        self,
        directory: Directory,
        vault: Vault,
        connectors: Mapping[str, Inbound],
        telemetry: Telemetry,
        *,
        keep: timedelta = DEDUP_KEEP,
    ) -> None:
        """`keep`: how long the store remembers the ids of what has ended."""
        self.age_max = min(keep, REDELIVERY_AGE_MAX)
        """A signed event older than this may have been played and forgotten."""
        self._directory = directory
        self._vault = vault
        self._connectors = connectors
        self._telemetry = telemetry
        self._snapshot: Snapshot | None = None
        self._doors: dict[str, DoorOf] = {}
        self._windows: dict[tuple[TenantId, str], _Collecting | None] = {}

    @property
    def is_ready(self) -> bool:
        """The directory was read at least once."""
        return self._snapshot is not None

    def find(self, name: str) -> DoorOf | None:
        return self._doors.get(name)

    def is_active(self, tenant: TenantId) -> bool:
        found = None if self._snapshot is None else self._snapshot.tenants.get(tenant)
        return found is not None and found.active

    async def refresh(self, *, again: bool = False) -> bool:
        """Read the directory; True if it had a new version. `again`: also the secrets of an old one.

        Raises Misconfigured if not one secret opens: then it is the master key that is wrong, and not a row.
        """
        snapshot = await self._directory.snapshot()
        if self._snapshot is not None and snapshot.version == self._snapshot.version and not again:
            return False
        doors: dict[str, DoorOf] = {}
        shut: list[Misconfigured] = []
        for name in snapshot.endpoints:
            door = await self._open(snapshot, name, shut)
            if door is not None:
                doors[name] = door
        if shut and not any(door.secrets for door in doors.values()):
            raise shut[0]
        self._snapshot, self._doors, self._windows = snapshot, doors, {}
        return True

    async def _open(self, snapshot: Snapshot, name: EndpointName, shut: list[Misconfigured]) -> DoorOf | None:
        endpoint = snapshot.endpoints[name]
        connector = self._connectors.get(endpoint.connector)
        if connector is None:
            self._telemetry.warn("ingress.no_connector", endpoint=name, connector=endpoint.connector)
            return None
        owner = endpoint.tenant if endpoint.tenant is not None else PLATFORM
        opened: dict[SecretName, bytes] = {}
        for secret in (*endpoint.signing, *endpoint.secrets.values()):
            try:
                opened[secret] = await self._vault.open(owner, secret)
            except (SecretMissing, Misconfigured) as error:
                # The others still verify; with none left every delivery is refused, and the provider keeps it. A secret
                # that does not open (another key, a damaged row) is its own endpoint's trouble and nobody else's.
                self._telemetry.warn("ingress.secret_missing", endpoint=name, secret=secret, error=type(error).__name__)
                if isinstance(error, Misconfigured):
                    shut.append(error)
        return DoorOf(
            endpoint=endpoint,
            connector=connector,
            secrets=tuple(opened[secret] for secret in endpoint.signing if secret in opened),
            tokens={field: opened[secret] for field, secret in endpoint.secrets.items() if secret in opened},
            channels=snapshot.channels_of(name),
        )

    # --- collecting windows ---

    def window(self, tenant: TenantId, kind: str, text: str | None) -> Window | None:
        """The window that the application's handler for this kind collects in."""
        key = (tenant, kind)
        if key not in self._windows:
            rules = () if self._snapshot is None else self._snapshot.collects
            self._windows[key] = _collecting(rules, tenant, kind)
        found = self._windows[key]
        if found is None:
            return None
        flushes = text is not None and text.strip().casefold() in found.flush_words
        return found.flushing if flushes else found.waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collecting:
    flush_words: frozenset[str]
    waiting: Window
    flushing: Window


def _collecting(rules: Sequence[CollectRule], tenant: TenantId, kind: str) -> _Collecting | None:
    """The most specific rule: the tenant's own before the general one, then the longest pattern."""
    fitting = [
        (rule.tenant is not None, len(pattern), rule)
        for rule in rules
        if rule.tenant in (None, tenant)
        for pattern in rule.kinds
        if pattern == kind or (pattern.endswith("*") and kind.startswith(pattern[:-1]))
    ]
    if not fitting:
        return None
    rule = max(fitting, key=lambda found: found[:2])[2]
    if rule.events_max <= 1:
        # A kind that is played one by one although a wider rule collects: with a window it would join that one's turns.
        return None
    return _Collecting(
        flush_words=frozenset(word.strip().casefold() for word in rule.flush_words),
        waiting=_window(rule.quiet, rule.wait_max, rule.events_max, flushes=False),
        flushing=_window(rule.quiet, rule.wait_max, rule.events_max, flushes=True),
    )


def _window(quiet: timedelta, wait_max: timedelta, events_max: int, *, flushes: bool) -> Window:
    return Window(quiet=quiet, wait_max=wait_max, events_max=events_max, flushes=flushes)
