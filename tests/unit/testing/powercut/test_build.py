"""The shim is built once, and where it cannot be built the text says what to do."""

from pathlib import Path

import pytest

from procession.testing.powercut.build import PowercutUnavailable, build_shim


@pytest.fixture(autouse=True)
def _no_memory_of_earlier_builds() -> None:
    build_shim.cache_clear()


def test_without_a_compiler_the_text_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)

    with pytest.raises(PowercutUnavailable, match="apt-get install gcc"):
        build_shim()


def test_a_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no headers here >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    with pytest.raises(PowercutUnavailable, match="no headers here"):
        build_shim()

    assert not list((tmp_path / "cache").rglob("*.so*")), "nothing half-made is left"


def test_a_second_build_is_found_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    try:
        first = build_shim()
    except PowercutUnavailable as missing:
        pytest.skip(str(missing))
    made = first.stat().st_mtime_ns
    build_shim.cache_clear()

    assert build_shim() == first
    assert first.stat().st_mtime_ns == made
    assert first.is_relative_to(tmp_path)


def test_a_cache_folder_that_the_loader_cannot_name_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))

    with pytest.raises(PowercutUnavailable, match="XDG_CACHE_HOME"):
        build_shim()
