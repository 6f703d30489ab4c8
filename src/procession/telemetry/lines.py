"""Structured log lines. Fields are ids, counts, durations and reasons; never a body, a secret or a person's number."""

import sys
from enum import IntEnum
from typing import Final, TextIO

import msgspec

from procession.ports.clock import Clock
from procession.telemetry.counters import Counters

_REASON_CHARS_MAX: Final = 300
"""Of a text field: the texts of foreign errors have no bound of their own."""


class Level(IntEnum):
    NOTE = 10
    WARN = 20
    SILENT = 99


class LineTelemetry:
    def __init__(self, clock: Clock, *, level: Level = Level.WARN, out: TextIO | None = None) -> None:
        self.counters = Counters()
        self._clock = clock
        self._level = level
        self._out = out if out is not None else sys.stderr

    def count(self, name: str, amount: int = 1, *, tenant: str = "") -> None:
        self.counters.add(name, amount, tenant)

    def note(self, what: str, /, **fields: str | float | bool | None) -> None:
        if self._level <= Level.NOTE:
            self._write("note", what, fields)

    def warn(self, what: str, /, **fields: str | float | bool | None) -> None:
        if self._level <= Level.WARN:
            self._write("warn", what, fields)

    def _write(self, level: str, what: str, fields: dict[str, str | float | bool | None]) -> None:
        line: dict[str, object] = {"at": self._clock.now().isoformat(), "level": level, "what": what}
        for name, value in fields.items():
            line[name] = value[:_REASON_CHARS_MAX] if isinstance(value, str) else value
        # JSON escapes line ends and control characters: no field can forge a line or move a terminal's cursor.
        self._out.write(msgspec.json.encode(line).decode() + "\n")
        self._out.flush()


class QuietTelemetry(LineTelemetry):
    """Counts, and writes nothing."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, level=Level.SILENT)
