"""Finds the user's application: `module:name`, from the working directory or whatever is installed."""

import importlib
import sys
import traceback
from pathlib import Path

from procession.core.errors import Misconfigured
from procession.lanes.app import App


def load_application(spec: str, folder: Path) -> App:
    """`bot:app` is the name `app` of bot.py in `folder`. Errors name the line of the user's own code."""
    module_name, _, name = spec.partition(":")
    if not module_name or not name or not all(part.isidentifier() for part in (*module_name.split("."), name)):
        raise Misconfigured(f"{spec!r} names no application: write module:name, like bot:app for `app` in bot.py")
    here = str(folder.resolve())
    if here not in sys.path:
        sys.path.insert(0, here)
    found = _named(_module(module_name, folder), module_name, name)
    if not isinstance(found, App):
        raise Misconfigured(f"{spec} is a {type(found).__name__}: it must be an App (`from procession import App`)")
    return found


def _module(module_name: str, folder: Path) -> object:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as missing:
        if missing.name is not None and (module_name == missing.name or module_name.startswith(f"{missing.name}.")):
            there = ", ".join(sorted(path.stem for path in folder.glob("*.py"))[:10]) or "none"
            raise Misconfigured(
                f"there is no module {module_name} in {folder.resolve()} (modules there: {there}), nor installed"
            ) from None
        raise Misconfigured(f"{module_name} needs {missing.name}, which is not installed{_where(missing)}") from missing
    except SyntaxError as error:
        raise Misconfigured(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    except Misconfigured:
        raise
    except Exception as error:
        # The user's module may raise anything as it is imported: whose it is has to be said.
        raise Misconfigured(f"{module_name} raised {type(error).__name__}: {error}{_where(error)}") from error


def _named(module: object, module_name: str, name: str) -> object:
    if hasattr(module, name):
        return getattr(module, name)
    apps = [own for own, value in vars(module).items() if isinstance(value, App)]
    hint = f": did you mean {module_name}:{apps[0]}?" if apps else ", nor any other App"
    raise Misconfigured(f"module {module_name} has no {name!r}{hint}")


def _where(error: BaseException) -> str:
    """The last line of code outside of the import machinery."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
