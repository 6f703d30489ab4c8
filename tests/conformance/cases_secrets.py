"""Sealed secrets and wrapped keys: what a vault leaves with its store, and what a rotation may count on."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from procession.app.system import SystemChance
from procession.core.errors import SecretMissing
from procession.core.ids import EventId, TenantId
from procession.core.limits import SECRET_OPENS_KEEP
from procession.ports.vault import PLATFORM, Sealed, SecretName, WrappedKey
from procession.testing.stand_ins import Notebook
from procession.vault import EnvelopeVault, GivenMasters, MasterKey, WrongKey
from tests.conformance.builders import ACME, BOLT
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line

TOKEN, OTHER = SecretName("channel/main/token"), SecretName("channel/main/other")
PLENTY = 1_000


def a_vault(harness: Harness) -> EnvelopeVault:
    master = MasterKey(key=b"m" * 32, origin="test", chance=SystemChance())
    return EnvelopeVault(harness.secrets, GivenMasters(master), SystemChance(), Notebook())


def sealed(version: int, box: bytes = b"box") -> Sealed:
    return Sealed(key_version=version, box=box, fingerprint=f"mark of {box!r}")


def key(version: int, box: bytes = b"key") -> WrappedKey:
    return WrappedKey(version=version, box=box)


async def add(harness: Harness, *versions: int, tenant: TenantId = ACME) -> None:
    for version in versions:
        assert await harness.secrets.add_key(tenant, key(version), actor="anna")


async def put(
    harness: Harness, kept: Sealed, *, tenant: TenantId = ACME, name: SecretName = TOKEN, seals_max: int = PLENTY
) -> bool:
    return await harness.secrets.put(tenant, name, kept, seals_max=seals_max, actor="anna")


async def there(harness: Harness, tenant: TenantId = ACME, name: SecretName = TOKEN) -> Sealed | None:
    found = await harness.secrets.find(tenant, name)
    return None if found is None else found.sealed


async def versions(harness: Harness, tenant: TenantId = ACME) -> list[int]:
    return [each.version for each in await harness.secrets.keys(tenant)]


async def audited(harness: Harness, *verbs: str) -> Sequence[tuple[str, TenantId | None, str, str]]:
    rows = await harness.console.audit(limit=1000)
    return [(row.actor, row.tenant, row.verb, row.about) for row in reversed(rows) if row.verb in verbs]


# --- E1 ---


@line("E1")
async def test_a_secret_is_stored_under_the_newest_key_only(harness: Harness) -> None:
    assert not await put(harness, sealed(1))
    await add(harness, 1, 2)

    assert not await put(harness, sealed(1))
    assert not await put(harness, sealed(3))
    assert await there(harness) is None
    assert await put(harness, sealed(2))

    assert await there(harness) == sealed(2)


@line("E1")
async def test_each_storing_is_counted_on_its_key_and_a_refused_one_is_not(harness: Harness) -> None:
    await add(harness, 1)
    await add(harness, 1, tenant=BOLT)

    assert await put(harness, sealed(1), seals_max=3)
    assert await put(harness, sealed(1, b"again"), seals_max=3)
    assert not await put(harness, sealed(2), seals_max=3)
    assert await harness.secrets.replace(ACME, TOKEN, sealed(1, b"again"), sealed(1, b"third"), seals_max=3)
    assert not await put(harness, sealed(1, b"fourth"), seals_max=3)
    assert not await harness.secrets.replace(ACME, TOKEN, sealed(1, b"third"), sealed(1, b"fourth"), seals_max=3)

    assert await there(harness) == sealed(1, b"third")
    assert [each.seals for _, each in await harness.secrets.all_keys()] == [3, 0]


@line("E1")
async def test_sealings_at_once_do_not_pass_the_bound_together(harness: Harness) -> None:
    await add(harness, 1)
    names = [SecretName(f"key-{number}") for number in range(20)]

    kept = await asyncio.gather(*(put(harness, sealed(1), name=name, seals_max=7) for name in names))

    assert kept.count(True) == 7
    assert len(await harness.secrets.names(ACME)) == 7


@line("E1", "G2", needs=(Guarantee.DURABLE,))
async def test_secrets_keys_and_their_counts_survive_a_restart(harness: Harness) -> None:
    await add(harness, 1)
    await put(harness, sealed(1))

    await harness.reopen()

    assert await there(harness) == sealed(1)
    assert await harness.secrets.keys(ACME) == (WrappedKey(version=1, box=b"key", seals=1),)


# --- E2 ---


@line("E2")
async def test_a_version_is_given_once(harness: Harness) -> None:
    await add(harness, 1, 2)

    assert not await harness.secrets.add_key(ACME, key(2, b"another"), actor="anna")
    assert await harness.secrets.remove_key(ACME, 1)
    assert not await harness.secrets.add_key(ACME, key(1, b"another"), actor="anna")

    assert await harness.secrets.keys(ACME) == (key(2),)


@line("E2")
async def test_a_key_is_removed_only_when_a_newer_one_is_there_and_nothing_is_sealed_under_it(
    harness: Harness,
) -> None:
    await add(harness, 1)
    await put(harness, sealed(1))
    assert not await harness.secrets.remove_key(ACME, 1)

    await add(harness, 2)
    assert not await harness.secrets.remove_key(ACME, 1)
    assert not await harness.secrets.remove_key(ACME, 2)
    assert not await harness.secrets.remove_key(BOLT, 1)

    assert await harness.secrets.replace(ACME, TOKEN, sealed(1), sealed(2), seals_max=PLENTY)
    assert await harness.secrets.remove_key(ACME, 1)
    assert not await harness.secrets.remove_key(ACME, 1)
    assert await versions(harness) == [2]


@line("E2")
async def test_what_is_sealed_under_an_older_key_is_told(harness: Harness) -> None:
    assert await harness.secrets.behind(ACME) == ()
    await add(harness, 1)
    await put(harness, sealed(1))
    await put(harness, sealed(1), name=OTHER)
    assert await harness.secrets.behind(ACME) == ()

    await add(harness, 2)
    await put(harness, sealed(2))

    assert await harness.secrets.behind(ACME) == (OTHER,)
    assert await harness.secrets.behind(BOLT) == ()


# --- E3 ---


@line("E3")
async def test_a_secret_is_found_with_the_key_that_it_was_sealed_under(harness: Harness) -> None:
    assert await harness.secrets.find(ACME, TOKEN) is None
    await add(harness, 1)
    await put(harness, sealed(1))
    await add(harness, 2)

    found = await harness.secrets.find(ACME, TOKEN)

    assert found is not None
    assert found.sealed == sealed(1)
    assert found.key == WrappedKey(version=1, box=b"key", seals=1)


@line("E3")
async def test_a_reader_never_meets_half_of_a_rotation(harness: Harness) -> None:
    vault = a_vault(harness)
    await vault.seal(ACME, TOKEN, b"plain", "anna")
    over = asyncio.Event()

    async def read() -> int:
        reads = 0
        while not over.is_set():
            found = await harness.secrets.find(ACME, TOKEN)
            assert found is not None
            assert found.key is not None
            assert found.key.version == found.sealed.key_version
            reads += 1
            await asyncio.sleep(0)
        return reads

    reading = asyncio.ensure_future(read())
    for _ in range(20):
        await vault.rotate(ACME, "anna")
        await asyncio.sleep(0)
    over.set()

    assert await reading > 10
    assert await versions(harness) == [21]


# --- E4 ---


@line("E4")
async def test_only_what_was_read_is_replaced(harness: Harness) -> None:
    await add(harness, 1)
    await put(harness, sealed(1, b"one"))
    await add(harness, 2)
    await put(harness, sealed(2, b"newer"))

    for before in (sealed(1, b"one"), sealed(2, b"else"), sealed(1, b"newer")):
        assert not await harness.secrets.replace(ACME, TOKEN, before, sealed(2, b"anew"), seals_max=PLENTY)
    assert not await harness.secrets.replace(ACME, OTHER, sealed(1), sealed(2, b"anew"), seals_max=PLENTY)

    assert await there(harness) == sealed(2, b"newer")
    assert await there(harness, name=OTHER) is None


@line("E4")
async def test_a_key_is_wrapped_anew_only_as_it_was_read_and_keeps_its_count(harness: Harness) -> None:
    await add(harness, 1)
    await put(harness, sealed(1))

    assert not await harness.secrets.rewrap(ACME, key(1, b"else"), key(1, b"anew"), actor="anna")
    assert not await harness.secrets.rewrap(BOLT, key(1), key(1, b"anew"), actor="anna")
    assert await harness.secrets.rewrap(ACME, key(1), key(1, b"anew"), actor="anna")

    assert await harness.secrets.keys(ACME) == (WrappedKey(version=1, box=b"anew", seals=1),)


# --- E5 ---


@line("E5", "V1")
async def test_one_name_of_several_tenants_is_several_secrets(harness: Harness) -> None:
    owners = (PLATFORM, ACME, BOLT)
    for owner in owners:
        await add(harness, 1, tenant=owner)
        await put(harness, sealed(1, owner.encode() or b"ours"), tenant=owner)

    await harness.secrets.remove(BOLT, TOKEN, actor="anna")

    assert await there(harness, PLATFORM) == sealed(1, b"ours")
    assert await there(harness, ACME) == sealed(1, b"acme")
    assert await there(harness, BOLT) is None
    assert await harness.secrets.names(BOLT) == ()
    assert await harness.secrets.names(ACME) == ((TOKEN, sealed(1, b"acme").fingerprint),)
    assert [(owner, each.version) for owner, each in await harness.secrets.all_keys()] == [
        (owner, 1) for owner in owners
    ]


@line("E5")
async def test_every_change_names_its_actor_in_the_audit_and_what_was_refused_does_not(harness: Harness) -> None:
    rows = harness.secrets
    await rows.add_key(ACME, key(1), actor="a")
    await rows.add_key(ACME, key(1), actor="nobody")
    await rows.put(ACME, TOKEN, sealed(1), seals_max=PLENTY, actor="b")
    await rows.put(ACME, TOKEN, sealed(9), seals_max=PLENTY, actor="nobody")
    await rows.rewrap(ACME, key(1), key(1, b"anew"), actor="c")
    await rows.rewrap(ACME, key(1), key(1, b"anew"), actor="nobody")
    await rows.remove(ACME, TOKEN, actor="d")
    await rows.remove(ACME, TOKEN, actor="nobody")
    await rows.add_key(PLATFORM, key(1), actor="e")

    assert await audited(harness, "key add", "secret set", "key rewrap", "secret forget") == [
        ("a", ACME, "key add", "data key 1"),
        ("b", ACME, "secret set", TOKEN),
        ("c", ACME, "key rewrap", "data key 1"),
        ("d", ACME, "secret forget", TOKEN),
        ("e", None, "key add", "data key 1"),
    ]


@line("E5")
async def test_what_was_opened_is_audited_and_forgotten_after_its_time(harness: Harness) -> None:
    await harness.secrets.opened(ACME, TOKEN, actor="turn one")
    await harness.secrets.opened(BOLT, TOKEN, actor="turn two")
    harness.clock.advance(SECRET_OPENS_KEEP + timedelta(seconds=1))

    await harness.secrets.opened(ACME, OTHER, actor="turn three")

    assert await audited(harness, "secret open") == [("turn three", ACME, "secret open", OTHER)]
    assert await audited(harness, "apply"), "only those rows are forgotten"


# --- the vault over it ---


@line("V1", "V2")
async def test_a_row_that_was_moved_does_not_open(harness: Harness) -> None:
    vault = a_vault(harness)
    for tenant in (ACME, BOLT):
        for name in (TOKEN, OTHER):
            await vault.seal(tenant, name, f"{tenant} {name}".encode(), "anna")
    moved = await there(harness, ACME, TOKEN)
    assert moved is not None

    for tenant, name in ((BOLT, TOKEN), (ACME, OTHER)):
        own = await there(harness, tenant, name)
        assert own is not None
        assert await harness.secrets.replace(tenant, name, own, moved, seals_max=PLENTY)
        with pytest.raises(WrongKey):
            await vault.open(tenant, name)

    assert await vault.open(ACME, TOKEN) == f"{ACME} {TOKEN}".encode()


@line("V3")
async def test_nothing_but_open_answers_a_secret_or_says_it_to_the_audit(harness: Harness) -> None:
    vault = a_vault(harness)
    await vault.seal(ACME, TOKEN, b"the plain token", "anna")
    await vault.seal(ACME, TOKEN, b"the plain token of now", "anna")
    await vault.rotate(ACME, "anna")
    await vault.open_for(ACME, TOKEN, EventId("ev_1"))
    with pytest.raises(SecretMissing) as missing:
        await vault.open(BOLT, TOKEN)

    shown = [
        await vault.names(ACME),
        await vault.look(),
        await harness.secrets.find(ACME, TOKEN),
        await harness.secrets.all_keys(),
        await harness.console.audit(limit=1000),
        missing.value,
        vault,
    ]
    assert "the plain token" not in repr(shown)
    assert await vault.open(ACME, TOKEN) == b"the plain token of now"
