"""Only app/system.py reads the time or draws random numbers: so the same code runs under the seeded simulation."""

import ast
from collections.abc import Iterator
from typing import Final

import pytest

from tests.tidy.names import uses
from tests.tidy.sources import Finding, Source, findings, hold, sources

SYSTEM: Final = "src/procession/app/system.py"

# The loop's own clock may be read where timers are set on it: deadlines of connections, and a simulated loop itself.
LOOPS: Final = ("src/procession/runtime/", "src/procession/ingress/", "src/procession/testing/simulation/")

# These measure, start or kill real processes from outside: there is nothing to simulate in them.
FROM_OUTSIDE: Final = (
    "src/procession/testing/bench/",
    "src/procession/testing/chaos/",
    "src/procession/testing/postgres/",
)

# A seeded generator is not chance: everything that it draws comes from the seed. These may build one, and nothing else.
SEEDED: Final = ("src/procession/testing/",)

# A comparison in constant time lives in `secrets` too, and reads neither time nor chance.
PURE: Final = frozenset({"secrets.compare_digest", "time.struct_time"})

FORBIDDEN_MODULES: Final = ("time", "random", "secrets")
FORBIDDEN_NAMES: Final = frozenset(
    {
        "asyncio.sleep",
        "datetime.date.today",
        "datetime.datetime.now",
        "datetime.datetime.today",
        "datetime.datetime.utcnow",
        "os.getrandom",
        "os.urandom",
        "uuid.getnode",
        "uuid.uuid1",
        "uuid.uuid4",
    }
)


def reads_of_clock_or_chance(source: Source) -> Iterator[Finding]:
    if source.within(SYSTEM, *FROM_OUTSIDE):
        return
    calls = {id(node.func): node for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
    for node, dotted in uses(source.tree):
        if dotted == "random.Random" and source.within(*SEEDED):
            call = calls.get(id(node))
            # Named as a type it is harmless; called without a seed it asks the kernel.
            if call is None or call.args:
                continue
        if _is_forbidden(dotted) and not (dotted == "asyncio.sleep" and _gives_way(calls.get(id(node)))):
            yield Finding(path=source.path, line=node.lineno, why=f"{dotted}: take a clock or a chance as a parameter")
    if not source.within(*LOOPS):
        yield from _reads_of_a_loop(source)


def _reads_of_a_loop(source: Source) -> Iterator[Finding]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr == "time" and _is_a_loop(node.value):
            yield Finding(path=source.path, line=node.lineno, why="the loop's time: take a clock as a parameter")


def _is_forbidden(dotted: str) -> bool:
    return dotted not in PURE and (dotted.partition(".")[0] in FORBIDDEN_MODULES or dotted in FORBIDDEN_NAMES)


def _gives_way(call: ast.Call | None) -> bool:
    """Say whether a sleep is of no length: it lets others run once, and that is all."""
    return call is not None and len(call.args) == 1 and ast.unparse(call.args[0]) == "0"


def _is_a_loop(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return _is_a_loop(node.func)
    last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return last.strip("_") in ("loop", "get_running_loop", "get_event_loop")


def test_only_the_system_module_reads_the_time_or_draws_random_numbers() -> None:
    hold(reads_of_clock_or_chance, sources((".py",), "src/"))


@pytest.mark.parametrize(
    "text",
    [
        "import time\nnow = time.time()",
        "import time as clock\nnow = clock.monotonic_ns()",
        "from time import monotonic as now\nnow()",
        "import time\ndef f(now=time.monotonic): ...",
        "def f():\n    import random\n    return random.random()",
        "from random import Random\nRandom(7)",
        "import secrets\nsecrets.token_hex()",
        "import uuid\nuuid.uuid4()",
        "from datetime import datetime, UTC\ndatetime.now(UTC)",
        "import datetime\ndatetime.datetime.now()",
        "import os\nos.urandom(8)",
        "import asyncio\nasync def f():\n    await asyncio.sleep(1)",
        "import asyncio\nasyncio.get_running_loop().time()",
        "def f(self):\n    return self._loop.time()",
    ],
)
def test_a_read_of_clock_or_chance_is_caught(text: str) -> None:
    assert findings(reads_of_clock_or_chance, [Source.sample(text)])


@pytest.mark.parametrize(
    "text",
    [
        "from datetime import datetime, timedelta\ndatetime.fromisoformat('2026-01-01') + timedelta(1)",
        "import uuid\nuuid.UUID(int=7)",
        "from secrets import compare_digest\ncompare_digest(b'', b'')",
        "import asyncio\nasyncio.timeout(1)",
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)",
        "def f(clock):\n    return clock.time()",
    ],
)
def test_what_reads_neither_passes(text: str) -> None:
    assert not findings(reads_of_clock_or_chance, [Source.sample(text)])


def test_the_simulation_may_seed_a_generator_but_not_ask_the_kernel_for_a_seed() -> None:
    seeded = Source.sample("import random\nrandom.Random(7)", "src/procession/testing/world.py")
    unseeded = Source.sample("import random\nrandom.Random()", "src/procession/testing/world.py")

    assert not findings(reads_of_clock_or_chance, [seeded])
    assert findings(reads_of_clock_or_chance, [unseeded])
