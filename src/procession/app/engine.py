"""The engine: starts the services, waits for a signal, and brings them to a calm end.

    start    control → upkeep → outbox → lanes → ingress     what comes in last is opened last
    stop     ingress → lanes → outbox → upkeep → control     and closed first: what is accepted can still be played

Ingress listens only when everything behind it runs, so `GET /health` answers 200 from its first answer on. One stop
drains; a second one waits for nothing more, but still gives the leases back, so that whoever comes next goes on at
once.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, NoReturn

from procession.app.application import load_application
from procession.app.config import Config
from procession.app.settings import Role
from procession.app.wiring import Services, World, open_world, services_of
from procession.core.errors import Misconfigured, ProcessionError
from procession.lanes.app import App
from procession.runtime.service import Service

BROKEN: Final = 70
"""Exit status after a fail-stop: the store can be trusted no more."""
CUT_SHORT: Final = 128
"""Plus the number of the signal that came second: it stopped before all was drained."""


class Engine:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._stopping = asyncio.Event()
        self._at_once = asyncio.Event()

    @property
    def was_cut_short(self) -> bool:
        return self._at_once.is_set()

    def stop(self) -> None:
        """Drain; called once more: wait for nothing."""
        if self._stopping.is_set():
            self._at_once.set()
        self._stopping.set()

    async def run(self) -> None:
        """Return when everything has ended. What breaks one service ends all, and is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                for service in self._in_order(starting=True):
                    if not self._stopping.is_set():
                        await service.start(group)
                hurrying = group.create_task(self._hurry(), name="hurry")
                await self._stopping.wait()
                for service in self._in_order(starting=False):
                    await service.stop(at_once=self._at_once.is_set())
                hurrying.cancel()
        except BaseExceptionGroup as several:
            raise _telling(several) from several
        finally:
            for wire in self._services.wires:
                await wire.close()

    def _in_order(self, *, starting: bool) -> tuple[Service, ...]:
        of = self._services
        order = (of.control, of.upkeep, of.outbox, of.lanes, of.ingress)
        there = tuple(service for service in order if service is not None)
        return there if starting else there[::-1]

    async def _hurry(self) -> None:
        await self._at_once.wait()
        async with asyncio.TaskGroup() as group:
            for service in self._in_order(starting=False):
                group.create_task(service.stop(at_once=True), name=f"hurry-{service.name}")


def _telling(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that an operator can do something about, out of all that ended together."""
    leaves = list(_leaves(several))
    return next((leaf for leaf in leaves if isinstance(leaf, ProcessionError)), leaves[0])


def _leaves(several: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for inner in several.exceptions:
        found.extend(_leaves(inner) if isinstance(inner, BaseExceptionGroup) else [inner])
    return found


# --- a process ---


def serve(config: Config, announce: Callable[[str, int | None], None], folder: Path) -> int:
    """Run an engine until it is told to stop; answers the exit status. `announce` is told where it listens."""
    app = _application(config, folder)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(config, app, announce))


async def _serve(config: Config, app: App | None, announce: Callable[[str, int | None], None]) -> int:
    config.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    world = await open_world(config, on_broken=fail_stop)
    try:
        await world.vault.check()
        await _declare(world, app)
        engine = Engine(services_of(world, app, fail_stop, lambda port: announce(config.host, port)))
        signals = _listen_to_signals(engine)
        if Role.INGRESS not in config.roles:
            announce("", None)
        await engine.run()
    finally:
        await world.open.store.close()
    return CUT_SHORT + signals[-1] if engine.was_cut_short else 0


def _application(config: Config, folder: Path) -> App | None:
    if Role.LANES not in config.roles:
        return None
    if config.app:
        return load_application(config.app, folder)
    if config.roles_were_chosen:
        raise Misconfigured("lanes has no application to play turns with: `procession serve module:app`")
    return None


async def _declare(world: World, app: App | None) -> None:
    """Ingress opens windows by what the directory says: it may run in another process than the application."""
    if app is None:
        await world.open.directory.snapshot()
        return
    current = await world.open.directory.snapshot()
    others = tuple(rule for rule in current.collects if rule.tenant is not None)
    await world.open.directory.change(replace(current, collects=(*others, *app.collects)), actor="serve")


def _listen_to_signals(engine: Engine) -> list[int]:
    """Those that came, in order."""
    came: list[int] = []

    def heard(number: int) -> None:
        came.append(number)
        engine.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, heard, number)
    return came


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def fail_stop(reason: str) -> NoReturn:
    """Nothing is tidied up: what the store holds is all that can be relied on, and going on would build on sand."""
    sys.stderr.write(
        f"procession: stopped on purpose: the store can be trusted no more ({reason}).\n"
        "Nothing that was answered 2xx is lost by this. Look at the disk and the kernel's log, run `procession "
        "doctor`, then start it again.\n"
    )
    sys.stderr.flush()
    os._exit(BROKEN)
