"""Settings that a connector does not know are refused: a misspelt one would silently do nothing."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from procession.core.errors import Misconfigured
from procession.ports.directory import Setting


def check_known(what: str, connector: str, settings: Mapping[str, Setting], known: Iterable[str]) -> None:
    names = sorted(known)
    for name in settings:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise Misconfigured(f"a {what} of {connector!r} has no setting {name!r}{hint}; it has: {', '.join(names)}")
