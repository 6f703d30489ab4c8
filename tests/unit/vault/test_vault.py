"""Secrets: bound to where they belong, useless elsewhere, replaced without a trace of the old."""

import base64
from pathlib import Path

import pytest

from procession.app.system import SystemChance
from procession.core.errors import Misconfigured, SecretMissing
from procession.core.ids import TenantId
from procession.ports.vault import Sealed, SecretName, WrappedKey
from procession.vault import EnvelopeVault, MasterKey, WrongKey, master_key_from

ACME, BOLT = TenantId("acme"), TenantId("bolt")
TOKEN, OTHER = SecretName("channel/main/token"), SecretName("channel/main/other")
MASTER = MasterKey(key=b"m" * 32, origin="test")


class Rows:
    """Sealed rows in memory."""

    def __init__(self) -> None:
        self.secrets: dict[tuple[TenantId, SecretName], Sealed] = {}
        self.wrapped: dict[TenantId, list[WrappedKey]] = {}
        self.writes = 0

    async def sealed(self, tenant: TenantId, name: SecretName) -> Sealed | None:
        return self.secrets.get((tenant, name))

    async def put(self, tenant: TenantId, name: SecretName, sealed: Sealed, *, actor: str) -> None:
        assert actor
        self.writes += 1
        self.secrets[tenant, name] = sealed

    async def remove(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        assert actor
        self.secrets.pop((tenant, name), None)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        return tuple((name, sealed.fingerprint) for (own, name), sealed in self.secrets.items() if own == tenant)

    async def keys(self, tenant: TenantId) -> tuple[WrappedKey, ...]:
        return tuple(self.wrapped.get(tenant, ()))

    async def add_key(self, tenant: TenantId, key: WrappedKey) -> bool:
        there = self.wrapped.setdefault(tenant, [])
        if any(own.version == key.version for own in there):
            return False
        there.append(key)
        return True


def vault(rows: Rows, master: MasterKey = MASTER) -> EnvelopeVault:
    return EnvelopeVault(rows, master, SystemChance())


async def test_what_was_sealed_opens_and_its_bytes_are_nowhere_in_the_rows() -> None:
    rows = Rows()
    await vault(rows).seal(ACME, TOKEN, b"the plain token", "tester")

    assert await vault(rows).open(ACME, TOKEN) == b"the plain token"
    assert b"the plain token" not in rows.secrets[ACME, TOKEN].box


async def test_sealing_the_same_again_writes_nothing() -> None:
    rows = Rows()
    assert await vault(rows).seal(ACME, TOKEN, b"one", "tester")
    assert not await vault(rows).seal(ACME, TOKEN, b"one", "tester")
    assert await vault(rows).seal(ACME, TOKEN, b"two", "tester")

    assert rows.writes == 2
    assert await vault(rows).open(ACME, TOKEN) == b"two"


@pytest.mark.parametrize(("tenant", "name"), [(BOLT, TOKEN), (ACME, OTHER)])
async def test_a_box_moved_to_another_tenant_or_name_does_not_open(tenant: TenantId, name: SecretName) -> None:
    rows = Rows()
    await vault(rows).seal(ACME, TOKEN, b"acme's", "tester")
    await vault(rows).seal(tenant, name, b"another's", "tester")
    rows.secrets[tenant, name] = rows.secrets[ACME, TOKEN]

    with pytest.raises(WrongKey):
        await vault(rows).open(tenant, name)


async def test_a_data_key_moved_to_another_tenant_does_not_open() -> None:
    rows = Rows()
    await vault(rows).seal(ACME, TOKEN, b"acme's", "tester")
    rows.wrapped[BOLT] = rows.wrapped[ACME]
    rows.secrets[BOLT, TOKEN] = rows.secrets[ACME, TOKEN]

    with pytest.raises(WrongKey):
        await vault(rows).open(BOLT, TOKEN)


async def test_a_changed_or_cut_box_does_not_open() -> None:
    rows = Rows()
    await vault(rows).seal(ACME, TOKEN, b"the plain token", "tester")
    whole = rows.secrets[ACME, TOKEN]
    for position in range(len(whole.box)):
        bent = whole.box[:position] + bytes([whole.box[position] ^ 1]) + whole.box[position + 1 :]
        for box in (bent, whole.box[:position]):
            rows.secrets[ACME, TOKEN] = Sealed(key_version=1, box=box, fingerprint=whole.fingerprint)
            with pytest.raises(WrongKey):
                await vault(rows).open(ACME, TOKEN)


async def test_another_master_key_is_told_clearly_and_overwrites_nothing() -> None:
    rows = Rows()
    await vault(rows).seal(ACME, TOKEN, b"the plain token", "tester")
    wrong = vault(rows, MasterKey(key=b"x" * 32, origin="test"))

    with pytest.raises(WrongKey, match="PROCESSION_MASTER_KEY"):
        await wrong.open(ACME, TOKEN)
    with pytest.raises(WrongKey, match="PROCESSION_MASTER_KEY"):
        await wrong.seal(ACME, TOKEN, b"new", "tester")
    assert await vault(rows).open(ACME, TOKEN) == b"the plain token"


async def test_a_secret_that_is_missing_is_named() -> None:
    with pytest.raises(SecretMissing, match=TOKEN):
        await vault(Rows()).open(ACME, TOKEN)


async def test_fingerprints_tell_secrets_apart_and_differ_between_tenants() -> None:
    rows = Rows()
    for tenant in (ACME, BOLT):
        await vault(rows).seal(tenant, TOKEN, b"same", "tester")
        await vault(rows).seal(tenant, OTHER, b"other", "tester")

    marks = {sealed.fingerprint for sealed in rows.secrets.values()}

    assert len(marks) == 4


def test_the_master_key_of_the_embedded_default_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "master.key"

    made = master_key_from({}, path, SystemChance(), create=True)

    assert path.stat().st_mode & 0o777 == 0o600
    assert master_key_from({}, path, SystemChance(), create=True).key == made.key
    assert [each.name for each in path.parent.iterdir()] == ["master.key"]
    assert base64.b64encode(made.key).decode() not in repr(made)


def test_a_master_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    master_key_from({}, path, SystemChance(), create=True)
    path.chmod(0o640)

    with pytest.raises(Misconfigured, match="chmod 600"):
        master_key_from({}, path, SystemChance(), create=True)


def test_the_environment_wins_and_must_be_a_key(tmp_path: Path) -> None:
    good = base64.b64encode(b"e" * 32).decode()

    assert (
        master_key_from({"PROCESSION_MASTER_KEY": good}, tmp_path / "k", SystemChance(), create=False).key == b"e" * 32
    )
    with pytest.raises(Misconfigured, match="32 random bytes in base64"):
        master_key_from({"PROCESSION_MASTER_KEY": "short"}, tmp_path / "k", SystemChance(), create=False)
    with pytest.raises(Misconfigured, match="no master key"):
        master_key_from({}, tmp_path / "k", SystemChance(), create=False)
