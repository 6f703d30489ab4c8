"""Every conversation in order, every reply once, every tenant apart."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from procession.core.effect import DoubtPolicy, Gate, Receipt, RefusedPolicy
    from procession.core.errors import (
        FileFailed,
        LaneLost,
        Misconfigured,
        ProcessionError,
        SecretMissing,
        SqlFailed,
        TurnMisused,
    )
    from procession.core.retry import Retry
    from procession.core.text import split_text
    from procession.lanes.app import App
    from procession.lanes.event import Event
    from procession.lanes.mode import collect, one
    from procession.lanes.turn import PlainTurn, Turn

__all__ = [
    "App",
    "DoubtPolicy",
    "Event",
    "FileFailed",
    "Gate",
    "LaneLost",
    "Misconfigured",
    "PlainTurn",
    "ProcessionError",
    "Receipt",
    "RefusedPolicy",
    "Retry",
    "SecretMissing",
    "SqlFailed",
    "Turn",
    "TurnMisused",
    "collect",
    "one",
    "split_text",
]

_HOME: Final = {
    "App": "procession.lanes.app",
    "DoubtPolicy": "procession.core.effect",
    "Event": "procession.lanes.event",
    "FileFailed": "procession.core.errors",
    "Gate": "procession.core.effect",
    "LaneLost": "procession.core.errors",
    "Misconfigured": "procession.core.errors",
    "PlainTurn": "procession.lanes.turn",
    "ProcessionError": "procession.core.errors",
    "Receipt": "procession.core.effect",
    "RefusedPolicy": "procession.core.effect",
    "Retry": "procession.core.retry",
    "SecretMissing": "procession.core.errors",
    "SqlFailed": "procession.core.errors",
    "Turn": "procession.lanes.turn",
    "TurnMisused": "procession.core.errors",
    "collect": "procession.lanes.mode",
    "one": "procession.lanes.mode",
    "split_text": "procession.core.text",
}


def __getattr__(name: str) -> object:
    # Imported when it is first asked for: whoever needs one part of the package does not load all of it.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found
