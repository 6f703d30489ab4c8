"""Upper may import lower, neighbours may not import each other, and the pure part imports the standard library only."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.tidy.names import modules
from tests.tidy.sources import ROOT, Finding, Source, findings, hold, sources

PACKAGES: Final = (
    *("app", "cli", "connectors", "core", "ingress", "lanes", "outbox", "ports"),
    *("runtime", "storage", "telemetry", "testing", "upkeep", "vault"),
)

# Who may know the classes behind a port: the wiring that chooses them, and what tries them out.
CONCRETE: Final = ("procession.storage", "procession.connectors", "procession.vault")
KNOWS_CONCRETE: Final = ("src/procession/app/wiring.py", "src/procession/app/stores.py", "src/procession/testing/")


def impure_imports(source: Source) -> Iterator[Finding]:
    for line, module in modules(source.tree):
        top = module.partition(".")[0]
        ours = module == "procession.core" or module.startswith("procession.core.")
        if top not in sys.stdlib_module_names and not ours:
            yield Finding(path=source.path, line=line, why=f"{module}: core needs the standard library only")
        if top in ("asyncio", "socket", "sqlite3", "subprocess", "threading"):
            yield Finding(path=source.path, line=line, why=f"{module}: core is pure")


def concrete_imports(source: Source) -> Iterator[Finding]:
    if source.within(*KNOWS_CONCRETE):
        return
    for line, module in modules(source.tree):
        behind = [package for package in CONCRETE if module == package or module.startswith(f"{package}.")]
        if behind and not source.within(f"src/{behind[0].replace('.', '/')}/"):
            yield Finding(path=source.path, line=line, why=f"{module}: only app/wiring.py knows what is behind a port")


def test_core_is_pure() -> None:
    hold(impure_imports, sources((".py",), "src/procession/core/"))


def test_only_the_wiring_knows_what_is_behind_a_port() -> None:
    hold(concrete_imports, sources((".py",), "src/"))


def test_the_layers_hold() -> None:
    broken = _check_layers(ROOT / "src")

    assert not broken, broken


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/sample.py", "import procession.ports"),
        ("core/sample.py", "def late():\n    from procession.app import thing"),
        ("ingress/sample.py", "import procession.lanes"),
        ("outbox/sample.py", "import procession.storage"),
        ("runtime/sample.py", "from procession.telemetry import log"),
        ("testing/sample.py", "import procession.app"),
        ("unplaced.py", ""),
        ("unplaced/__init__.py", ""),
    ],
)
def test_a_broken_layer_is_caught(tmp_path: Path, path: str, text: str) -> None:
    house = _empty_house(tmp_path)
    (house / path).parent.mkdir(exist_ok=True)
    (house / path).write_text(text)

    assert path.partition("/")[0].removesuffix(".py") in _check_layers(tmp_path)


def test_an_empty_house_keeps_its_layers(tmp_path: Path) -> None:
    _empty_house(tmp_path)

    assert not _check_layers(tmp_path)


def test_an_impure_core_is_caught() -> None:
    assert findings(impure_imports, [Source.sample("import msgspec")])
    assert findings(impure_imports, [Source.sample("from procession.ports import store")])
    assert findings(impure_imports, [Source.sample("import asyncio")])
    assert not findings(impure_imports, [Source.sample("import hashlib\nfrom procession.core.ids import Seq")])


def test_knowing_what_is_behind_a_port_is_caught() -> None:
    text = "from procession.storage.sqlite import store"

    assert findings(concrete_imports, [Source.sample(text, "src/procession/cli/serve.py")])
    assert not findings(concrete_imports, [Source.sample(text, "src/procession/app/wiring.py")])
    assert not findings(concrete_imports, [Source.sample(text, "src/procession/storage/sqlite/claim.py")])


def _empty_house(folder: Path) -> Path:
    house = folder / "procession"
    for package in (".", *PACKAGES):
        (house / package).mkdir()
        (house / package / "__init__.py").write_text("")
    return house


def _check_layers(folder: Path) -> str:
    """Run the contract over the packages in a folder; what it says when it is broken, and nothing when it holds."""
    linter = shutil.which("lint-imports", path=Path(sys.executable).parent)
    assert linter is not None
    command = [linter, "--no-logo", "--no-cache", "--config", str(ROOT / ".importlinter")]
    # The linter puts the working directory first on its path, so it sees these packages, and not the installed one.
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr if ran.returncode else ""
