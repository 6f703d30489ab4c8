"""Single keys of the terminal, without Enter; its settings are put back at the end."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def listening(acts: Mapping[str, Callable[[], None]]) -> Iterator[None]:
    """While this lasts, a key calls its act. Without a terminal there are no keys."""
    if not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    loop = asyncio.get_running_loop()

    def pressed() -> None:
        for key in os.read(terminal, 64).decode("ascii", "replace").lower():
            if key in acts:
                acts[key]()

    tty.setcbreak(terminal)
    loop.add_reader(terminal, pressed)
    try:
        yield
    finally:
        loop.remove_reader(terminal)
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
