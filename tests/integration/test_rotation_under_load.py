"""Data keys and master keys are rotated while secrets are opened and replaced, and each rotation may be cut off.

On a real file, with the master key's file beside it. A rotation is stopped at one of its steps, as by a crash: what it
knew is gone, and the next vault starts from the file and the rows. Meanwhile the readers and writers never stop.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import Final

import pytest

from procession.app.system import SystemChance, SystemClock
from procession.core.ids import TenantId
from procession.ports.vault import PLATFORM, SecretName
from procession.storage.sqlite.store import SqliteStore
from procession.testing.stand_ins import Notebook
from procession.vault import EnvelopeVault, WrongKey, masters_from
from tests.unit.vault.faults import Fuse, SteppedRows, Stopped

OWNERS: Final = (PLATFORM, TenantId("acme"), TenantId("bolt"))
NAMES: Final = tuple(SecretName(f"key-{number}") for number in range(4))
ROTATIONS: Final = 100
STEPS_MAX: Final = 45
"""Of the longest rotation here, about: a fuse above it does not go off."""


class Town:
    """One file, its master key, and whoever opens and sets secrets there."""

    def __init__(self, store: SqliteStore, key: Path) -> None:
        self.store = store
        self.key = key
        self.set: dict[tuple[TenantId, SecretName], set[bytes]] = {}
        """What each may be by now: while one is being replaced, the one before or the one after."""
        self.masters = masters_from({}, key, SystemChance(), create=True)
        self.engine = self.vault()
        self.opens = self.sets = 0
        self.is_over = False

    def vault(self, fuse: Fuse | None = None) -> EnvelopeVault:
        rows = self.store.secrets if fuse is None else SteppedRows(self.store.secrets, fuse)
        return EnvelopeVault(rows, self.masters, SystemChance(), Notebook())

    async def fill(self) -> None:
        for owner in OWNERS:
            for name in NAMES:
                self.set[owner, name] = {b"first"}
                await self.engine.seal(owner, name, b"first", "operator")

    async def read(self, owner: TenantId) -> None:
        while not self.is_over:
            for name in NAMES:
                before = set(self.set[owner, name])
                with self.whose_process_may_die() as engine:
                    plain = await engine.open(owner, name)
                    assert plain in before | self.set[owner, name], f"{owner} {name}"
                    self.opens += 1

    async def write(self, owner: TenantId) -> None:
        while not self.is_over:
            for name in NAMES:
                self.sets += 1
                plain = b"%d" % self.sets
                self.set[owner, name].add(plain)
                with self.whose_process_may_die() as engine:
                    await engine.seal(owner, name, plain, "operator")
                    self.set[owner, name] = {plain}

    @contextmanager
    def whose_process_may_die(self) -> Iterator[EnvelopeVault]:
        """What a vault of before a crash still does here, nobody would have seen."""
        engine = self.engine
        try:
            yield engine
        except WrongKey:
            if engine is self.engine:
                raise

    async def restart(self) -> None:
        """The engine as a crash of its process leaves it: the masters it knew are read from their file again."""
        self.masters = masters_from({}, self.key, SystemChance(), create=False)
        self.engine = self.vault()
        await self.engine.check()


@asynccontextmanager
async def town_in(folder: Path) -> AsyncIterator[Town]:
    store = SqliteStore.open(folder, clock=SystemClock(), chance=SystemChance())
    try:
        town = Town(store, folder / "master.key")
        await town.fill()
        yield town
    finally:
        await store.close()


async def rotate(vault: EnvelopeVault, number: int) -> None:
    if number % 2:
        await vault.rotate(OWNERS[number // 2 % len(OWNERS)], "operator")
    else:
        while (await vault.rotate_master("operator")).left:
            pass


async def rotate_often(town: Town, chance: Random) -> int:
    """Answers how often one was stopped. Whatever was stopped is followed by one that ends."""
    stopped = 0
    for number in range(ROTATIONS):
        try:
            await rotate(town.vault(Fuse(chance.randrange(1, STEPS_MAX))), number)
        except Stopped:
            stopped += 1
            await town.restart()
            await rotate(town.engine, number)
    return stopped


async def rows_left_on_an_old_version(town: Town) -> int:
    look = await town.engine.look()
    keys = await town.store.secrets.all_keys()
    return look.secrets_behind + look.keys_behind + look.keys_shut + len(keys) - len(OWNERS)


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_hundred_rotations_that_may_be_cut_off_fail_no_opening_and_leave_nothing_behind(
    tmp_path: Path, seed: int
) -> None:
    async with town_in(tmp_path / "store") as town:
        async with asyncio.TaskGroup() as group:
            for owner in OWNERS:
                group.create_task(town.read(owner))
                group.create_task(town.write(owner))
            stopped = await rotate_often(town, Random(seed))
            town.is_over = True

        assert stopped > ROTATIONS / 4
        assert town.opens > ROTATIONS
        assert town.sets > ROTATIONS
        assert await rows_left_on_an_old_version(town) == 0
        assert len(town.key.read_text().split()) == 1
        await town.restart()
        for (owner, name), plain in town.set.items():
            assert {await town.engine.open(owner, name)} == plain


async def test_what_a_lost_master_key_sealed_is_refused_and_not_overwritten(tmp_path: Path) -> None:
    async with town_in(tmp_path / "store") as town:
        before = await town.store.secrets.all_keys()
        kept = town.key.read_bytes()
        town.key.unlink()
        stranger = masters_from({}, town.key, SystemChance(), create=True)

        wrong = EnvelopeVault(town.store.secrets, stranger, SystemChance(), Notebook())

        for act in (
            wrong.check,
            lambda: wrong.rotate(OWNERS[1], "x"),
            lambda: wrong.seal(*OWNERS[1:2], NAMES[0], b"n", "x"),
        ):
            with pytest.raises(Exception, match="master key that is not known"):
                await act()
        assert await town.store.secrets.all_keys() == before
        town.key.write_bytes(kept)
        await town.restart()
        assert await town.engine.open(OWNERS[1], NAMES[0]) == b"first"
