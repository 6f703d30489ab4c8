"""What the lanes stage works with; all of it is handed in, so that a simulated world can hand in its own."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from procession.core.ids import TenantId, WorkerId
from procession.core.limits import LEASE_TTL, SLOTS
from procession.ports.bell import Bell
from procession.ports.chance import Chance
from procession.ports.clock import Clock
from procession.ports.files import Files
from procession.ports.replies import Replies
from procession.ports.store import Store
from procession.ports.telemetry import Telemetry
from procession.ports.threads import Threads
from procession.ports.vault import TurnVault
from procession.runtime.loop import FailStop


def _any_tenant(_: TenantId) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    store: Store
    bell: Bell
    clock: Clock
    chance: Chance
    telemetry: Telemetry
    vault: TurnVault
    replies: Replies
    files: Files
    threads: Threads
    worker: WorkerId
    fail_stop: FailStop
    lease_ttl: timedelta = LEASE_TTL
    slots: int = SLOTS
    pools: frozenset[str] = frozenset({""})
    has_share: Callable[[TenantId], bool] = _any_tenant
    """Does this tenant have a `lanes_max`? When a turn of such a one ends, another of its lanes may be free to go."""
