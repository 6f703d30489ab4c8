"""What `import procession` shows: enough for an application, loaded when it is asked for."""

import subprocess
import sys

import pytest

import procession
import procession.testing


@pytest.mark.parametrize("package", [procession, procession.testing])
def test_whatever_a_package_says_that_it_shows_is_there(package: object) -> None:
    names: list[str] = package.__all__  # type: ignore[attr-defined]  # a module's own list

    assert all(getattr(package, name) is not None for name in names)


def test_a_name_that_is_not_there_is_told_like_any_other() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Aplication'"):
        procession.Aplication  # noqa: B018 - what the test is about


def test_importing_the_package_alone_loads_no_stage() -> None:
    code = "import sys, procession; sys.exit('procession.lanes' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
