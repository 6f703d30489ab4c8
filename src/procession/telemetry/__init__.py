"""What the engine says of itself: counters in memory, and one JSON object a line on standard error."""

from procession.telemetry.counters import Counters
from procession.telemetry.lines import Level, LineTelemetry, QuietTelemetry

__all__ = ["Counters", "Level", "LineTelemetry", "QuietTelemetry"]
