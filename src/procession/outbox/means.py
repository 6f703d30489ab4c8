"""What the outbox works with, handed in by the wiring."""

from dataclasses import dataclass

from procession.core.ids import WorkerId
from procession.outbox.outlets import Outlets
from procession.ports.bell import Bell
from procession.ports.chance import Chance
from procession.ports.clock import Clock
from procession.ports.store import Store
from procession.ports.telemetry import Telemetry
from procession.ports.wire import WirePort
from procession.runtime.loop import FailStop


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    worker: WorkerId
    store: Store
    outlets: Outlets
    wire: WirePort
    bell: Bell
    clock: Clock
    chance: Chance
    telemetry: Telemetry
    fail_stop: FailStop
