"""Named points at which a real process can be made to die, for the proof on real processes.

`PROCESSION_CRASHPOINT="begin.armed:3"` kills the process with SIGKILL when it passes `begin.armed` for the third time:
nothing is flushed, closed or answered, as in a crash. Several are parted by commas. Not armed, a point costs one look
at an empty table.

    accept.before_answer   the delivery is committed, the answer is not yet written
    start.before           the try is counted, the handler has not begun
    settle.before          the handler is done, nothing of it is committed
    settle.after           the settlement is committed, nobody knows yet
    begin.armed            the effect is armed, no byte of it has gone out
    wire.answered          the provider has answered, the verdict is not yet recorded
"""

import os
import signal
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

VARIABLE: Final = "PROCESSION_CRASHPOINT"
NAMES: Final = frozenset(
    {"accept.before_answer", "start.before", "settle.before", "settle.after", "begin.armed", "wire.answered"}
)


def crashpoint(name: str) -> None:
    """Dies here, if the environment has armed this point and this is the pass that it names."""
    if _armed and name in _armed:
        _pass(name)


def last_words(name: str) -> str:
    """The line that a dying process leaves on its standard error, by which a harness knows where it died."""
    return f"procession: died at crashpoint {name}\n"


def armed_by(text: str) -> dict[str, int]:
    """Reads `name:k,name:k`; a name without a number dies at its first pass."""
    armed: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, passing = part.strip().partition(":")
        if name not in NAMES or not (passing or "1").isdecimal() or int(passing or "1") < 1:
            raise ValueError(
                f"{VARIABLE}={text!r}: {part!r} is not one of {', '.join(sorted(NAMES))}, with a number from 1"
            )
        armed[name] = int(passing or "1")
    return armed


def _pass(name: str) -> None:
    if next(_passes[name]) == _armed[name]:
        os.write(2, last_words(name).encode())
        os.kill(os.getpid(), signal.SIGKILL)


# Read once: arming is a matter of how a process is started, and the untouched path must cost nothing. `next` on a
# counter cannot be torn by threads.
_armed: Final[Mapping[str, int]] = armed_by(os.environ.get(VARIABLE, ""))
_passes: Final[Mapping[str, Iterator[int]]] = {name: count(1) for name in _armed}
