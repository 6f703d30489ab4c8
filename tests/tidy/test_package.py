"""What is shipped holds our files, all of them and nothing else, and comes out the same each time."""

import hashlib
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from tests.tidy.sources import ROOT


def _wheel(folder: Path) -> Path:
    """Build in a process of its own, since a build changes its working directory; without changing this one's clock."""
    script = "import sys; from flit_core import buildapi; print(buildapi.build_wheel(sys.argv[1]))"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1767225600"}
    built = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder / built.stdout.strip()


def test_a_wheel_holds_our_files_and_no_others(tmp_path: Path) -> None:
    ours = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/procession").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    with zipfile.ZipFile(_wheel(tmp_path)) as wheel:
        shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert shipped == ours
    assert "procession/py.typed" in shipped
    assert not [name for name in shipped if name.endswith((".pth", ".so", ".pyc"))]


def test_two_builds_are_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    digests = {hashlib.sha256(_wheel(tmp_path / name).read_bytes()).hexdigest() for name in ("one", "two")}

    assert len(digests) == 1


def test_the_licence_is_shipped_and_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(_wheel(tmp_path)) as wheel:
        names = wheel.namelist()
        (metadata,) = (wheel.read(name).decode() for name in names if name.endswith("/METADATA"))

    assert [name for name in names if name.endswith("/licenses/LICENSE")]
    assert "License-Expression: Apache-2.0\n" in metadata


def test_every_package_named_on_the_command_line_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["scripts"] == {"procession": "procession.cli:main"}
    assert {"postgres", "redis", "all", "dev"} <= project["optional-dependencies"].keys()
