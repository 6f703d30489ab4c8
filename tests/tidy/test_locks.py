"""The locks pin every package by hash, name no index, and are in step with pyproject.toml."""

import re
import tomllib
from dataclasses import dataclass
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.tidy.sources import ROOT

INSTALLER: Final = "pip>=24"

_PIN: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)")
_HASH: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_OPTION: Final = re.compile(r"^\s*-(?!-hash=)", re.MULTILINE)
_HOST: Final = re.compile(
    r"\b\w+://|\b[a-z0-9-]+(\.[a-z0-9-]+)*\.(org|com|net|io|dev|internal|local)\b|@ ", re.IGNORECASE
)
_OURSELVES: Final = re.compile(r"# via\s.*\bprocession\b|#\s+procession \(|# via -r requirements/build.in")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    name: str
    version: Version
    hashes: int
    ours: bool
    """Whether pyproject.toml asks for it, and not only another package."""


def pins(lock: str) -> dict[str, Pin]:
    found = [_pin(block) for block in re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE))]
    return {pin.name: pin for pin in found if pin is not None}


def _pin(block: str) -> Pin | None:
    found = _PIN.match(block)
    if found is None:
        return None
    return Pin(
        name=canonicalize_name(found["name"]),
        version=Version(found["version"]),
        hashes=len(_HASH.findall(block)),
        ours=_OURSELVES.search(block) is not None,
    )


def complaints(lock: str, asked: list[str]) -> list[str]:
    """Say what is wrong with a lock for what was asked."""
    locked = pins(lock)
    wanted = {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, asked)}
    return [
        *(f"{found[0].strip()}: names a place" for found in _HOST.finditer(lock)),
        *(f"{found[0].strip()}…: sets an option" for found in _OPTION.finditer(lock)),
        *(f"{pin.name}: no hash" for pin in locked.values() if not pin.hashes),
        *(f"{name}: not locked; make lock" for name in wanted.keys() - locked.keys()),
        *(
            f"{name}: locked {locked[name].version}, asked {requirement.specifier}; make lock"
            for name, requirement in wanted.items()
            if name in locked and not requirement.specifier.contains(locked[name].version, prereleases=True)
        ),
        *(
            f"{pin.name}: locked, but nobody asks; make lock"
            for pin in locked.values()
            if pin.ours and pin.name not in wanted
        ),
    ]


def _lock(name: str) -> str:
    return (ROOT / "requirements" / name).read_text("utf-8")


def _asked() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    runtime = project["project"]["dependencies"]
    extras = project["project"]["optional-dependencies"]
    return {
        "build.lock": [*project["build-system"]["requires"], INSTALLER],
        "runtime.lock": runtime,
        "dev.lock": runtime + [requirement for extra in extras.values() for requirement in extra],
    }


@pytest.mark.parametrize("name", ["build.lock", "runtime.lock", "dev.lock"])
def test_a_lock_is_hashed_placeless_and_in_step(name: str) -> None:
    assert not complaints(_lock(name), _asked()[name])


def test_what_is_tested_is_what_runs() -> None:
    runtime, dev = pins(_lock("runtime.lock")), pins(_lock("dev.lock"))

    assert {name: pin.version for name, pin in runtime.items()} == {name: dev[name].version for name in runtime}


def test_the_build_asks_for_what_its_lock_was_made_from() -> None:
    stated = [line for line in _lock("build.in").splitlines() if line and not line.startswith("#")]

    assert stated == _asked()["build.lock"]


def test_the_extra_all_holds_every_extra_for_running() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

    every = {requirement for name, extra in extras.items() if name not in ("all", "dev") for requirement in extra}

    assert set(extras["all"]) == every


GOOD: Final = (
    "# made by make lock\nclick==8.3.0 \\\n    --hash=sha256:" + "0" * 64 + "\n    # via procession (pyproject.toml)\n"
)


def test_a_good_lock_passes() -> None:
    assert not complaints(GOOD, ["click>=8"])


@pytest.mark.parametrize(
    ("lock", "asked", "complaint"),
    [
        (GOOD.replace("--hash=sha256:", "--hash=md5:"), ["click"], "no hash"),
        ("--index-url https://mirror.example.com/simple\n" + GOOD, ["click"], "names a place"),
        ("--no-binary click\n" + GOOD, ["click"], "sets an option"),
        (GOOD.replace("click==8.3.0", "click @ file:///wheels/click.whl"), ["click"], "names a place"),
        (GOOD, ["click>=9"], "make lock"),
        (GOOD, ["click", "rich"], "rich: not locked"),
        (GOOD, [], "nobody asks"),
    ],
)
def test_a_bad_lock_is_caught(lock: str, asked: list[str], complaint: str) -> None:
    assert any(complaint in found for found in complaints(lock, asked))
