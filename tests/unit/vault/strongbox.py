"""A vault over the reference store, with rows that a test can look into and change."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from procession.app.system import SystemChance
from procession.core.ids import TenantId
from procession.core.limits import SEALS_MAX
from procession.ports.chance import Chance
from procession.ports.vault import Masters, SealedRows, SecretName
from procession.storage.memory.rows import Tables
from procession.storage.memory.secrets import MemorySecrets
from procession.testing.stand_ins import Notebook
from procession.vault import EnvelopeVault, GivenMasters, MasterKey, OwnMasters

ACME, BOLT = TenantId("acme"), TenantId("bolt")
TOKEN, OTHER = SecretName("channel/main/token"), SecretName("channel/main/other")
NOW: Final = datetime(2030, 1, 7, tzinfo=UTC)


def master(letter: bytes) -> MasterKey:
    return MasterKey(key=letter * 32, origin=f"test {letter.decode()}", chance=SystemChance())


def own_masters(keep: Callable[[object], None] = lambda _: None) -> OwnMasters:
    return OwnMasters((b"m" * 32,), keep, SystemChance(), origin="test")


class Strongbox:
    """Several vaults may be opened over its rows: as after a restart."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.rows = MemorySecrets(self.tables, lambda: NOW)
        self.notebook = Notebook()

    def vault(
        self,
        masters: Masters | None = None,
        *,
        chance: Chance | None = None,
        seals_max: int = SEALS_MAX,
        rows: SealedRows | None = None,
    ) -> EnvelopeVault:
        return EnvelopeVault(
            rows or self.rows,
            masters or GivenMasters(master(b"m")),
            chance or SystemChance(),
            self.notebook,
            seals_max=seals_max,
        )

    def audited(self) -> list[tuple[str, str | None, str, str]]:
        return [(row.actor, row.tenant, row.verb, row.about) for row in self.tables.audit]
