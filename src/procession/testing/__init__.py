"""Try a handler without a server (`play`, `Stage`); and the simulation that proves the engine."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from procession.testing.kit import Stage, play
    from procession.testing.played import Played, Reminder, Sent

__all__ = ["Played", "Reminder", "Sent", "Stage", "play"]

_HOME: Final = {"Stage": "kit", "play": "kit", "Played": "played", "Reminder": "played", "Sent": "played"}


def __getattr__(name: str) -> object:
    # Lazily, since the simulation and the rigs live below this package and need nothing of the kit.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"procession.testing.{_HOME[name]}"), name)
    globals()[name] = found
    return found
