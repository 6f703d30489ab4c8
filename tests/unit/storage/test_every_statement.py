"""The rules call statements by name: each store with rows has all of them, and none that nobody calls."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

import procession.storage
from procession.storage.postgres import statements as postgres
from procession.storage.sqlite import statements as sqlite

_CALLED: Final = re.compile(r'"((?:[a-z]+)\.(?:[a-z_]+))"')
_HOUSE: Final = Path(procession.storage.__file__).parent

OF_EACH: Final = {"sqlite": set(sqlite.every_statement()), "postgres": set(postgres.every_statement())}


def called_by_the_rules() -> set[str]:
    return called_in([*_HOUSE.glob("*.py"), *(_HOUSE / "ledger").glob("*.py")])


def called_in(files: Iterable[Path]) -> set[str]:
    return {name for file in files for name in _CALLED.findall(file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("store", OF_EACH)
def test_a_store_has_each_statement_that_the_rules_call(store: str) -> None:
    groups = {name.partition(".")[0] for name in OF_EACH[store]}
    called = {name for name in called_by_the_rules() if name.partition(".")[0] in groups}

    assert len(called) > 80
    assert called - OF_EACH[store] <= {"names.last"}


@pytest.mark.parametrize("store", OF_EACH)
def test_no_statement_is_called_by_nobody(store: str) -> None:
    there = {name for name in OF_EACH[store] if not name.startswith("store.")}

    assert there <= called_by_the_rules() | called_in((_HOUSE / store).glob("*.py"))


def test_a_named_parameter_has_one_number_and_a_cast_is_none() -> None:
    named = postgres.every_statement()["console.audit"]

    assert "$1::text IS NULL" in named.text
    assert named.names == ("tenant", "limit")
