"""What every test may lean on: coroutine tests, tests that run alone, Hypothesis profiles, no network but loopback."""

import asyncio
import fcntl
import functools
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final, ParamSpec

import pytest
from hypothesis import HealthCheck, settings

P = ParamSpec("P")

NIGHTLY: Final = "nightly"
NIGHTLY_TIMEOUT_SECONDS: Final = 3600
LOOPBACK: Final = ("127.", "::1", "localhost")

# A slow machine must not fail a property: how long a test may take is pytest-timeout's business.
_CALM: Final = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("quick", max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=_CALM)
settings.register_profile("ci", settings.get_profile("quick"), max_examples=150, derandomize=True, print_blob=True)
settings.register_profile(NIGHTLY, settings.get_profile("quick"), max_examples=1000, stateful_step_count=100)


def _profile() -> str:
    chosen = os.environ.get("HYPOTHESIS_PROFILE", "")
    if chosen in ("", "default"):
        return "ci" if os.environ.get("CI") else "quick"
    return chosen


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(_profile())
    sys.addaudithook(_refuse_the_network)
    run = getattr(config, "workerinput", {}).get("testrunuid")
    config.stash[_TURNSTILE] = Turnstile(f"procession-tests-{run}") if run else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that run alone come last, so that the others do not stop and start around them."""
    items.sort(key=_is_serial)
    if _profile() == NIGHTLY:
        for item in items:
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(NIGHTLY_TIMEOUT_SECONDS))


def _is_serial(item: pytest.Item) -> bool:
    return item.get_closest_marker("serial") is not None


# Outermost, so that waiting for the turnstile does not count against the test's own time.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    turnstile = item.config.stash[_TURNSTILE]
    with turnstile.passed(alone=_is_serial(item)) if turnstile else nullcontext():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Let a test be a coroutine function, also under Hypothesis, which calls the inner function once an example."""
    given = getattr(pyfuncitem.obj, "hypothesis", None)
    if given is not None and inspect.iscoroutinefunction(given.inner_test):
        given.inner_test = run_to_the_end(given.inner_test)
    elif inspect.iscoroutinefunction(pyfuncitem.obj):
        pyfuncitem.obj = run_to_the_end(pyfuncitem.obj)


def run_to_the_end(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """Make a plain test of a coroutine test: a loop of its own, and nothing left running on it."""

    @functools.wraps(test)
    def plain(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(_and_nothing_left(test(*args, **kwargs)))

    return plain


async def _and_nothing_left(test: Coroutine[object, object, None]) -> None:
    await test
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"the test ended, but these were still running: {sorted(task.get_name() for task in left)}"


class Turnstile:
    """Lets the tests of all worker processes of one run in together, or one of them in alone.

    Two file locks, because with one a test that wants to be alone would starve: each worker holds the room while it
    runs a test, and takes it again at once for the next. So everybody goes through the gate first, and who wants to be
    alone keeps the gate shut while the room empties. The kernel frees the locks of a worker that dies.
    """

    def __init__(self, name: str) -> None:
        folder = Path(tempfile.gettempdir())
        self._gate = (folder / f"{name}.gate").open("w")
        self._room = (folder / f"{name}.room").open("w")

    @contextmanager
    def passed(self, *, alone: bool) -> Iterator[None]:
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._room, fcntl.LOCK_UN)

    def close(self) -> None:
        for file in (self._gate, self._room):
            file.close()
            Path(file.name).unlink(missing_ok=True)


_TURNSTILE: Final = pytest.StashKey[Turnstile | None]()


def pytest_unconfigure(config: pytest.Config) -> None:
    if turnstile := config.stash.get(_TURNSTILE, None):
        turnstile.close()


def _refuse_the_network(event: str, args: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.bind", "socket.sendto"):
        match args[1]:
            case (str() as host, *_) if host and not host.startswith(LOOPBACK):
                raise AssertionError(f"tests talk to loopback only: {event} {host}")
