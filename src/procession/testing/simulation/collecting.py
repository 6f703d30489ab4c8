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
    """No collection but those that are asked for, and one at the end, when the loop itself is let go.

    Each looks at what was made since the last two only: what a simulation leaves behind must not grow old before.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        with _unseen():
            gc.collect(1)
        if was_enabled:
            gc.enable()


def dispose(gates: Iterable[Gate], closed: asyncio.AbstractEventLoop) -> None:
    """Close what is still suspended, as if its closed loop ran."""
    # Were no loop running, asyncio would make a real one for whoever asks.
    events._set_running_loop(closed)
    try:
        with _unseen():
            for gate in gates:
                if gate.node.run(gate.dispose):
                    gate.node.gates.pop(gate, None)
                else:
                    _UNDYING.append(gate)
    finally:
        events._set_running_loop(None)


@contextmanager
def _unseen() -> Iterator[None]:
    """What the code of the dead says is nobody's warning."""
    hook = sys.unraisablehook
    sys.unraisablehook = _say_nothing
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = hook


def _say_nothing(_: object) -> None:
    """In the place of `sys.unraisablehook`."""
