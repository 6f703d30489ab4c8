"""Names, and where they lead (A10)."""

from collections.abc import Sequence
from typing import Final

from procession.core.limits import ALIAS_RETIRED_KEEP
from procession.storage.instants import micros
from procession.storage.rows import Rows

_KEEP: Final = micros(ALIAS_RETIRED_KEEP)

NAMES_KEPT_MAX: Final = 16_384
"""Names that stay in memory between operations: about 4 MB."""


class Led:
    """Where a name leads."""

    __slots__ = ("lane", "retired_at")

    def __init__(self, lane: int, retired_at: int | None) -> None:
        self.lane = lane
        """The number of the turns' side."""
        self.retired_at = retired_at

    def leads(self, now: int) -> bool:
        return self.retired_at is None or now - self.retired_at < _KEEP


class Names:
    """The table of names, and as much of it in memory as was asked for lately: each message of a person asks again.

    What is written is written at once. Like the book's lanes, memory holds only while the writer's connection is the
    only one that writes, and is forgotten when a transaction is rolled back.
    """

    def __init__(self, rows: Rows) -> None:
        self.newest = 0
        """The newest number that was given to a name."""
        self._execute = rows.execute
        self._found: dict[tuple[int, str, str], Led | None] = {}
        self._of_lane: dict[int, tuple[str, ...]] = {}

    def recall(self) -> None:
        (self.newest,) = self._execute("names.last").fetchone()

    def find(self, tenant: int, channel: str, name: str) -> Led | None:
        key = (tenant, channel, name)
        if key not in self._found:
            row = self._execute("names.load", key).fetchone()
            self._found[key] = None if row is None else Led(*row)
        return self._found[key]

    def of_lane(self, tenant: int, lane: int) -> tuple[str, ...]:
        """Those that lead to it now, the newest first."""
        found = self._of_lane.get(lane)
        if found is None:
            rows = self._execute("names.of_lane", (tenant, lane)).fetchall()
            found = self._of_lane[lane] = tuple([name for (name,) in rows])
        return found

    def lead(
        self, tenant: int, channel: str, names: Sequence[str], lane: int, retires: Sequence[str], now: int
    ) -> None:
        """From now on all of them lead there; those that it retires, only for a while yet."""
        if not retires and self.of_lane(tenant, lane)[: len(names)] == tuple(names):
            return  # as the last time: that is most of what comes
        for name in reversed(names):
            self.newest += 1
            retired_at = now if name in retires else None
            known = self.find(tenant, channel, name)
            if known is not None:
                self._of_lane.pop(known.lane, None)
            self._write((tenant, channel, name, lane, self.newest, retired_at), known)
            self._found[tenant, channel, name] = Led(lane, retired_at)
        self._of_lane.pop(lane, None)

    def move(self, tenant: int, lane: int, heir: int) -> None:
        """A merge: all that led to the one leads to the other."""
        self._execute("names.move", (heir, tenant, lane))
        self.forget()

    def forget_retired(self, now: int, rows_max: int) -> int:
        """P2. Answers how many."""
        forgotten = self._execute("names.forget_retired", (now - _KEEP, rows_max)).rowcount
        if forgotten:
            self.forget()
        return forgotten

    def _write(self, row: tuple[int, str, str, int, int, int | None], known: Led | None) -> None:
        del known
        self._execute("names.lead", row)

    def trim(self) -> None:
        if len(self._found) + len(self._of_lane) > NAMES_KEPT_MAX:
            self.forget()

    def forget(self) -> None:
        self._found.clear()
        self._of_lane.clear()
