"""Runs what lives in `procession.testing`: loaded only when it is asked for, since an engine needs none of it."""

import importlib
import inspect
from collections.abc import Callable
from typing import cast

from procession.app.system import SystemChance, SystemClock
from procession.core.errors import Misconfigured


def run(where: str, **options: object) -> None:
    """Call `module:function` with these options, and exit with the status that it answers. It prints by itself.

    One that has a parameter `clock` or `chance` is given the system's: it may not make them itself.
    """
    module_name, _, name = where.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), name)
    except ModuleNotFoundError as missing:
        if missing.name is not None and module_name.startswith(missing.name):
            raise Misconfigured(f"this build of procession comes without {module_name}") from None
        raise Misconfigured(f"{module_name} needs {missing.name}: pip install 'procession[dev]'") from None
    except AttributeError:
        raise Misconfigured(f"this build of procession comes without {where}") from None
    call = cast("Callable[..., int]", found)
    wanted = inspect.signature(call).parameters
    given: dict[str, object] = {"clock": SystemClock(), "chance": SystemChance()}
    raise SystemExit(call(**{**{name: one for name, one in given.items() if name in wanted}, **options}))
