"""An error as an operator reads it: what happened, whose it is, what to do next."""

from dataclasses import dataclass
from typing import Final

from procession.core import errors
from procession.core.errors import ProcessionError

FAILED: Final = 1
"""Exit status of a command that could not do what it was asked; wrong usage is click's own 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    whose: str
    next: str


_BLAME: Final[tuple[tuple[type[ProcessionError], Blame], ...]] = (
    (
        errors.Misconfigured,
        Blame(
            whose="the settings, the declaration or the application",
            next="change what the text names; `procession config` shows where each value comes from",
        ),
    ),
    (
        errors.SecretMissing,
        Blame(
            whose="the settings name a secret that nobody has set", next="set it by `procession apply`, then try again"
        ),
    ),
    (errors.BadRequest, Blame(whose="the command", next="correct it as the text says; `--help` shows what there is")),
    (errors.StoreFull, Blame(whose="the machine", next="make room; nothing was changed")),
    (
        errors.StoreAway,
        Blame(whose="the store", next="try again; nothing was changed. `procession doctor` shows more"),
    ),
    (
        errors.OutcomeUnknown,
        Blame(whose="the store or the engine", next="look whether it was done before you try again"),
    ),
    (
        errors.StoreBroken,
        Blame(whose="the disk or the file", next="stop the engine, look at the kernel's log, run `procession doctor`"),
    ),
    (
        errors.SchemaNewer,
        Blame(whose="this version is older than the one that wrote the file", next="run that version or a newer one"),
    ),
)
_OURS: Final = Blame(whose="the engine: this is a bug", next="please report it, with the output of `procession doctor`")


def blame_of(error: ProcessionError) -> Blame:
    return next((blame for kind, blame in _BLAME if isinstance(error, kind)), _OURS)
