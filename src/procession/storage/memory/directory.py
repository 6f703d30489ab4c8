"""The directory of the reference store."""

from collections.abc import Callable
from datetime import datetime

from procession.core.effect import ENDED
from procession.core.event import EventState
from procession.core.ids import ChannelName, TenantId
from procession.ports.console import AuditRow
from procession.ports.directory import Change, Snapshot
from procession.storage.diff import merged
from procession.storage.memory.rows import Tables


class MemoryDirectory:
    def __init__(self, tables: Tables, now: Callable[[], datetime]) -> None:
        self._tables = tables
        self._now = now

    async def snapshot(self) -> Snapshot:
        return self._tables.snapshot

    async def change(self, wanted: Snapshot, *, actor: str, dry_run: bool = False) -> tuple[Change, ...]:
        after, changes = merged(self._tables.snapshot, wanted, self._busy())
        if changes and not dry_run:
            self._tables.snapshot = after
            for change in changes:
                self._tables.audit.append(
                    AuditRow(
                        at=self._now(),
                        actor=actor,
                        tenant=None,
                        verb="apply",
                        about=f"{change.sign} {change.what}",
                        detail=change.detail,
                    )
                )
        return changes

    def _busy(self) -> set[tuple[TenantId, ChannelName]]:
        unfinished = (EventState.WAITING, EventState.HELD)
        busy = {
            (event.new.tenant, event.new.channel) for event in self._tables.events.values() if event.state in unfinished
        }
        busy.update(
            (effect.tenant, effect.draft.channel)
            for effect in self._tables.effects.values()
            if effect.state not in ENDED
        )
        return busy
