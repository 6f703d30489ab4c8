"""The two sides of an await site: the source, and the suspended coroutine."""

import ast
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from procession.testing.simulation.clock import sleep
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.sites import AwaitSites, Site, standing
from tests.unit.testing.simulation import sample

SOURCE = Path(sample.__file__)


class Watcher:
    """Kills nobody, and notes where it could have."""

    def __init__(self, sites: AwaitSites) -> None:
        self.sites = sites
        self.deepest: list[Site | None] = []
        self.chains: list[tuple[Site, ...]] = []

    def strikes(self, node: Node, suspended: Coroutine[Any, Any, Any]) -> bool:
        self.deepest.append(self.sites.deepest(suspended))
        self.chains.append(self.sites.chain(suspended))
        return False


def watched(sites: AwaitSites, program: Coroutine[Any, Any, Any]) -> Watcher:
    watcher = Watcher(sites)

    async def world(loop: SimulatedLoop) -> None:
        await loop.node("worker", watcher).spawn(program)

    run(1, world)
    return watcher


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line)


def test_every_await_of_a_file_is_found() -> None:
    sites = AwaitSites.of(SOURCE)

    # Read another way: by the words. A comprehension stands on one line here, and a timeout does not suspend.
    expected = {
        number
        for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
        if any(word in line for word in ("await ", "async with", "async for")) and "asyncio.timeout" not in line
    }
    assert {site.line for site in sites.all} == expected


def test_a_site_knows_its_file_and_function() -> None:
    sites = AwaitSites.of(SOURCE)

    shown = {site.shown.partition(":")[0] + site.shown.partition(" ")[2] for site in sites.all}

    assert {name.rpartition("sample.py")[2] for name in shown} == {
        "Door.__aenter__",
        "Door.__aexit__",
        "opened",
        "numbers",
        "child",
        "program",
    }


def test_every_suspension_is_at_a_site_that_the_source_has() -> None:
    sites = AwaitSites.of(SOURCE)

    watcher = watched(sites, sample.program())

    seen = {site for chain in watcher.chains for site in chain}
    assert seen == set(sites.all), "each await of the sample suspends, and none is told that is not there"
    assert None not in watcher.deepest


def test_the_chain_leads_from_the_outermost_await_to_the_deepest() -> None:
    watcher = watched(AwaitSites.of(SOURCE), sample.program())

    lines = {tuple(site.line for site in chain) for chain in watcher.chains}

    within = line_of("async with Door()")
    assert (within, line_of("await sleep(0.1)")) in lines
    assert (line_of("async for number in numbers(2)"), line_of("range(count)") + 1) in lines
    assert (line_of("await child"), line_of("for _ in range(count)") + 1) in lines


def test_foreign_code_has_no_site() -> None:
    watcher = watched(AwaitSites.of(SOURCE), sleep(1))

    assert watcher.deepest == [None]


def test_code_below_our_own_is_told_as_ours() -> None:
    async def handler_of_a_user() -> None:
        await sleep(1)

    async def ours() -> None:
        async with sample.Door():
            await handler_of_a_user()

    deepest = {site.function for site in watched(AwaitSites.of(SOURCE), ours()).deepest if site}

    assert deepest == {"Door.__aenter__", "Door.__aexit__"}


def test_folders_can_be_left_out(tmp_path: Path) -> None:
    for folder in ("engine", "engine/testing"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
        (tmp_path / folder / "run.py").write_text("async def run():\n    await pause()\n")

    assert [site.file for site in AwaitSites.of(tmp_path / "engine").all] == [
        "engine/run.py",
        "engine/testing/run.py",
    ]
    assert [site.file for site in AwaitSites.of(tmp_path / "engine", without=["testing"]).all] == ["engine/run.py"]


def test_all_of_the_package_can_be_read() -> None:
    package = Path(__file__).parents[4] / "src" / "procession"

    sites = AwaitSites.of(package)

    awaits = sum(
        isinstance(node, ast.Await | ast.AsyncWith | ast.AsyncFor)
        for source in package.rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
    )
    assert 0.8 * awaits < len(sites.all) <= awaits * 1.2
    assert all(site.file.startswith("procession/") for site in sites.all)


def test_a_person_is_told_the_innermost_frame() -> None:
    told: list[str] = []

    class Teller:
        def strikes(self, node: Node, suspended: Coroutine[Any, Any, Any]) -> bool:
            told.append(standing(suspended))
            return False

    async def world(loop: SimulatedLoop) -> None:
        await loop.node("worker", Teller()).spawn(sample.child(1))

    run(1, world)

    assert len(told) == 1
    assert "clock.py" in told[0]
    assert told[0].endswith(" sleep")
