"""The collector of cycles, and the end of those who can do nothing any more.

Python runs code when it lets a thing go: finalizers, and the `finally` of suspended coroutines. In a simulation that
has to come at the same step in every run, and of the dead it has to come when it can touch nothing.
"""

import asyncio
import gc
import sys
import warnings
from asyncio import events
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from procession.testing.simulation.gate import Gate

# Coroutines that could not be closed. To let them go would run their code at any moment.
_UNDYING: list[Gate] = []


@contextmanager
def collected_by_us() -> Iterator[None]:
    """No collection but those that are asked for."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def dispose(gates: Iterable[Gate], closed: asyncio.AbstractEventLoop) -> None:
    """Close what is still suspended, as if its closed loop ran. What its code says meanwhile is nobody's warning."""
    hook = sys.unraisablehook
    sys.unraisablehook = _say_nothing
    # Were no loop running, asyncio would make a real one for whoever asks.
    events._set_running_loop(closed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for gate in gates:
                if gate.node.run(gate.dispose):
                    gate.node.gates.pop(gate, None)
                else:
                    _UNDYING.append(gate)
            gc.collect(1)
    finally:
        events._set_running_loop(None)
        sys.unraisablehook = hook


def _say_nothing(_: object) -> None:
    """In the place of `sys.unraisablehook`."""
