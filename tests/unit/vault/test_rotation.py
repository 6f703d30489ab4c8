"""Keys are replaced while everything goes on, and whatever stops a rotation, the next one brings it to its end."""

import asyncio
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from procession.app.system import SystemChance
from procession.core.errors import BadRequest
from procession.core.ids import TenantId
from procession.core.limits import REWRAPS_MAX
from procession.ports.vault import SecretName, WrappedKey
from procession.storage.memory.secrets import MemorySecrets
from procession.vault import EnvelopeVault, GivenMasters, WrongKey, masters_from
from tests.unit.vault.faults import Between, Fuse, SteppedRows, Stopped
from tests.unit.vault.strongbox import ACME, BOLT, NOW, OTHER, TOKEN, Strongbox, master, own_masters


async def filled(box: Strongbox, vault: EnvelopeVault | None = None) -> EnvelopeVault:
    vault = vault or box.vault()
    for tenant in (ACME, BOLT):
        for name in (TOKEN, OTHER):
            await vault.seal(tenant, name, plain_of(tenant, name), "tester")
    box.tables.audit.clear()
    return vault


def plain_of(tenant: TenantId, name: SecretName) -> bytes:
    return f"{tenant}: {name}".encode()


async def check_all_open(vault: EnvelopeVault) -> None:
    for tenant in (ACME, BOLT):
        for name in (TOKEN, OTHER):
            assert await vault.open(tenant, name) == plain_of(tenant, name)


def versions(box: Strongbox, tenant: TenantId) -> set[int]:
    return {sealed.key_version for (own, _), sealed in box.tables.secrets.items() if own == tenant}


# --- data keys ---


async def test_a_tenants_secrets_are_under_a_new_key_and_the_old_one_is_gone() -> None:
    box = Strongbox()
    vault = await filled(box)
    before = dict(box.tables.secrets)

    rotated = await vault.rotate(ACME, "anna")

    assert (rotated.keys, rotated.secrets, rotated.left) == (1, 2, 0)
    assert set(box.tables.sealing_keys) == {(ACME, 2), (BOLT, 1)}
    assert box.audited() == [("anna", ACME, "key add", "data key 2")]
    await check_all_open(vault)
    assert box.tables.secrets[BOLT, TOKEN] == before[BOLT, TOKEN]


async def test_what_was_sealed_before_a_rotation_does_not_open_after_it() -> None:
    box = Strongbox()
    vault = await filled(box)
    old = box.tables.secrets[ACME, TOKEN]
    await vault.rotate(ACME, "anna")

    box.tables.secrets[ACME, TOKEN] = old

    with pytest.raises(WrongKey, match="data key 1 of tenant acme is gone"):
        await vault.open(ACME, TOKEN)


async def test_a_tenant_without_secrets_has_nothing_to_rotate() -> None:
    box = Strongbox()

    rotated = await box.vault().rotate(ACME, "anna")

    assert (rotated.keys, rotated.secrets) == (0, 0)
    assert not box.tables.sealing_keys


async def test_what_an_operator_sets_during_a_rotation_is_not_overwritten() -> None:
    """At each of its steps: the rotation has read the old value, and finds another one when it wants to replace it."""
    for step in count(1):
        box = Strongbox()
        await filled(box)
        between = Between(step, partial(box.vault().seal, ACME, TOKEN, b"newer", "operator"))

        await box.vault(rows=SteppedRows(box.rows, between)).rotate(ACME, "anna")

        assert await box.vault().open(ACME, TOKEN) == (b"newer" if between.came else plain_of(ACME, TOKEN))
        assert len(versions(box, ACME)) == 1
        if not between.came:
            assert step > 10
            return


async def test_what_is_forgotten_during_a_rotation_stays_forgotten() -> None:
    for step in count(1):
        box = Strongbox()
        await filled(box)
        between = Between(step, partial(box.vault().forget, ACME, TOKEN, "operator"))

        await box.vault(rows=SteppedRows(box.rows, between)).rotate(ACME, "anna")

        assert [name for name, _ in await box.vault().names(ACME)] == ([OTHER] if between.came else [OTHER, TOKEN])
        assert await box.vault().open(ACME, OTHER) == plain_of(ACME, OTHER)
        if not between.came:
            assert step > 10
            return


async def test_a_sealing_that_a_whole_rotation_overtakes_seals_again() -> None:
    """It has taken the old key; before it stores its box, that key is removed."""
    for step in count(1):
        box = Strongbox()
        await filled(box)
        between = Between(step, partial(box.vault().rotate, ACME, "anna"))

        await box.vault(rows=SteppedRows(box.rows, between)).seal(ACME, TOKEN, b"newer", "operator")

        assert await box.vault().open(ACME, TOKEN) == b"newer"
        assert versions(box, ACME) == {version for own, version in box.tables.sealing_keys if own == ACME}
        if not between.came:
            assert step > 4
            return


@pytest.mark.parametrize("step", [1, 2])
async def test_an_opening_that_whole_rotations_overtake_reads_again(step: int) -> None:
    masters, box = own_masters(), Strongbox()
    vault = await filled(box, box.vault(masters))

    async def both() -> None:
        await vault.rotate_master("anna")
        await vault.rotate(ACME, "anna")

    between = Between(step, both)
    opened = await box.vault(masters, rows=SteppedRows(box.rows, between)).open(ACME, TOKEN)

    assert opened == plain_of(ACME, TOKEN)
    assert between.came


async def test_a_rotation_that_is_stopped_anywhere_loses_nothing_and_the_next_one_ends_it() -> None:
    for step in count(1):
        box = Strongbox()
        await filled(box)
        fuse = Fuse(step)
        try:
            await box.vault(rows=SteppedRows(box.rows, fuse)).rotate(ACME, "anna")
        except Stopped:
            await check_all_open(box.vault())
        await box.vault().rotate(ACME, "anna")

        await check_all_open(box.vault())
        newest = max(version for own, version in box.tables.sealing_keys if own == ACME)
        assert versions(box, ACME) == {newest}
        assert [version for own, version in box.tables.sealing_keys if own == ACME] == [newest]
        if fuse.left > 0:
            assert step > 10
            return


async def test_a_secret_that_does_not_open_stays_as_it_is_and_is_named() -> None:
    box = Strongbox()
    vault = await filled(box)
    box.tables.secrets[ACME, TOKEN] = damaged = box.tables.secrets[ACME, OTHER]

    with pytest.raises(WrongKey, match=f"do not open.*{TOKEN}"):
        await vault.rotate(ACME, "anna")

    assert box.tables.secrets[ACME, TOKEN] == damaged
    assert (ACME, 1) in box.tables.sealing_keys
    assert await vault.open(ACME, OTHER) == plain_of(ACME, OTHER)
    assert (await vault.look()).secrets_behind == 1


# --- use counts ---


async def test_a_data_key_seals_no_more_than_it_may_and_the_next_takes_over() -> None:
    box = Strongbox()
    vault = box.vault(seals_max=10)
    most = 0
    for number in range(60):
        await vault.seal(ACME, SecretName(f"key-{number % 3}"), b"%d" % number, "tester")
        most = max(most, *(key.seals for key in box.tables.sealing_keys.values()))

    assert most <= 10
    [(_, version)] = box.tables.sealing_keys
    assert version > 6
    assert [await vault.open(ACME, SecretName(f"key-{key}")) for key in range(3)] == [b"57", b"58", b"59"]
    assert versions(box, ACME) == {version}


async def test_the_count_is_the_stores_and_outlives_the_vault() -> None:
    box = Strongbox()
    for number in range(7):
        await box.vault(seals_max=5).seal(ACME, TOKEN, b"%d" % number, "tester")

    # Five under the first; then the sixth, with which the second took over, and the seventh.
    assert [(version, key.seals) for (_, version), key in box.tables.sealing_keys.items()] == [(2, 2)]
    assert await box.vault().open(ACME, TOKEN) == b"6"


async def test_sealings_at_once_do_not_pass_the_bound_together() -> None:
    box = Strongbox()
    vault = box.vault(rows=SteppedRows(box.rows, lambda: asyncio.sleep(0)), seals_max=30)

    await asyncio.gather(
        *(vault.seal(ACME, SecretName(f"key-{number % 20}"), b"%d" % number, "tester") for number in range(80))
    )

    assert max(key.seals for key in box.tables.sealing_keys.values()) <= 30
    assert len([await vault.open(ACME, SecretName(f"key-{key}")) for key in range(20)]) == 20


# --- the master key ---


async def test_a_master_key_of_ours_is_replaced_and_no_secret_is_touched() -> None:
    box, masters = Strongbox(), own_masters()
    vault = await filled(box, box.vault(masters))
    before = dict(box.tables.secrets)

    rotated = await vault.rotate_master("anna")

    assert (rotated.keys, rotated.left) == (2, 0)
    assert box.tables.secrets == before
    assert {verb for _, _, verb, _ in box.audited()} == {"key rewrap"}
    await check_all_open(vault)
    with pytest.raises(WrongKey, match="not known"):
        await box.vault(GivenMasters(master(b"m"))).open(ACME, TOKEN)


async def test_a_master_key_of_somebody_else_is_replaced_while_both_are_there() -> None:
    box = Strongbox()
    await filled(box)
    both = box.vault(GivenMasters(master(b"n"), master(b"m")))

    await check_all_open(both)
    assert (await both.look()).keys_behind == 2
    assert (await both.rotate_master("anna")).keys == 2
    assert (await both.rotate_master("anna")).keys == 0

    await check_all_open(box.vault(GivenMasters(master(b"n"))))
    with pytest.raises(WrongKey):
        await box.vault(GivenMasters(master(b"m"))).open(ACME, TOKEN)


async def test_a_master_key_that_is_not_ours_to_make_is_asked_for() -> None:
    box = Strongbox()
    vault = await filled(box)

    with pytest.raises(BadRequest, match="PROCESSION_MASTER_KEY_OLD"):
        await vault.rotate_master("anna")


async def test_many_keys_are_wrapped_anew_in_parts() -> None:
    box, masters = Strongbox(), own_masters()
    vault = box.vault(masters)
    for number in range(REWRAPS_MAX + 3):
        await vault.seal(TenantId(f"t{number}"), TOKEN, b"x", "tester")

    first, second = await vault.rotate_master("anna"), await vault.rotate_master("anna")

    assert (first.keys, first.left) == (REWRAPS_MAX, 3)
    assert (second.keys, second.left) == (3, 0)


async def test_a_key_that_is_stored_while_the_master_changes_is_not_left_behind() -> None:
    """It was wrapped by the old master, and is stored after the rotation has looked for what is left."""

    class Slow(MemorySecrets):
        may_store = asyncio.Event()
        waits = asyncio.Event()

        async def add_key(self, tenant: TenantId, key: WrappedKey, *, actor: str) -> bool:
            if tenant == BOLT:
                self.waits.set()
                await self.may_store.wait()
            return await super().add_key(tenant, key, actor=actor)

    box, masters = Strongbox(), own_masters()
    rows = Slow(box.tables, lambda: NOW)
    vault = box.vault(masters, rows=rows)
    await vault.seal(ACME, TOKEN, b"x", "tester")

    sealing = asyncio.ensure_future(vault.seal(BOLT, TOKEN, b"late", "tester"))
    await rows.waits.wait()
    first = await vault.rotate_master("anna")
    rows.may_store.set()
    await sealing
    second = await vault.rotate_master("anna")

    assert (first.left, second.left) == (1, 0)
    assert len(masters.wraps) == 1
    assert await vault.open(BOLT, TOKEN) == b"late"


async def test_a_master_rotation_that_is_stopped_anywhere_loses_nothing_and_the_next_one_ends_it(
    tmp_path: Path,
) -> None:
    """The process is gone after that, so the next one has only the file and the rows."""
    for step in count(1):
        box, path = Strongbox(), tmp_path / f"{step}.key"
        await filled(box, box.vault(masters_from({}, path, SystemChance(), create=True)))
        fuse = Fuse(step)
        masters = masters_from({}, path, SystemChance(), create=False)
        try:
            await box.vault(masters, rows=SteppedRows(box.rows, fuse)).rotate_master("anna")
        except Stopped:
            await check_all_open(box.vault(masters_from({}, path, SystemChance(), create=False)))

        again = masters_from({}, path, SystemChance(), create=False)
        while (await box.vault(again).rotate_master("anna")).left:
            pass

        await check_all_open(box.vault(masters_from({}, path, SystemChance(), create=False)))
        assert len(path.read_text().split()) == 1
        if fuse.left > 0:
            assert step > 10
            return
