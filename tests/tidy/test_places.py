"""Nothing names the machine, the mirror or the registry that it was made with: a clone works wherever it stands."""

import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.tidy.sources import Finding, Source, findings, hold, sources

_ROOTS: Final = "home|root|work|workspace|Users|mnt|srv|shared|builds"
_MACHINE: Final = re.compile(rf"(?<![\w.~*}})-])/({_ROOTS})/[\w.-]+|\b[A-Z]:\\Users\b")
_REGISTRY: Final = re.compile(
    r"\b(?:[\w-]+\.)*(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|yarnpkg\.com|ghcr\.io|docker\.io|quay\.io|anaconda\.org)\b"
)
# The tests of the rule have to say what it catches.
SELF: Final = "tests/tidy/test_places.py"


def named_places(source: Source) -> Iterator[Finding]:
    if source.path == SELF:
        return
    for number, line in enumerate(source.lines, 1):
        if found := _MACHINE.search(line):
            yield Finding(path=source.path, line=number, why=f"{found[0]}: a path of one machine")
        if found := _REGISTRY.search(line):
            yield Finding(
                path=source.path,
                line=number,
                why=f"{found[0]}: a registry, which a mirror must be able to stand in for",
            )


def test_no_file_names_a_machine_or_a_registry() -> None:
    hold(named_places, sources(()))


@pytest.mark.parametrize(
    "text",
    [
        'path = "/home/somebody/procession"',
        "see /root/notes",
        "cd /work/main",
        r"C:\Users\somebody",
        "--index-url https://pypi.org/simple",
        "https://files.pythonhosted.org/packages/a.whl",
        "registry.npmjs.org",
    ],
)
def test_a_named_place_is_caught(text: str) -> None:
    assert findings(named_places, [Source.sample(text)])


@pytest.mark.parametrize(
    "text",
    ["/hooks/home/x", "https://shop.example/work/orders", "/etc/procession.toml", "npm", "/tmp/x", "$HOME/procession"],
)
def test_a_path_that_every_machine_has_passes(text: str) -> None:
    assert not findings(named_places, [Source.sample(text)])
