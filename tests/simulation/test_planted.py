"""The exam: bugs that are planted on purpose are found, and the catalogue follows the code."""

import pytest

from procession.core.errors import BadRequest
from procession.testing.simulation import driver, planted
from procession.testing.simulation.planted import Plant, catalogue, changed_source

_FOUND_AT_ONCE = ("answer-before-commit", "dedup-without-tenant", "sqlite-share-forgotten", "arm-after-wire")
_FOUND_IN_WHATSAPP = ("whatsapp-resend-on-timeout", "tenant-from-the-path", "merge-plays-both")


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    names = [plant.name for plant in catalogue()]

    assert len(names) >= 20
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("plant", catalogue(), ids=lambda plant: plant.name)
def test_what_a_plant_changes_is_still_there_and_stays_code(plant: Plant) -> None:
    module, source = changed_source(plant)

    assert module.startswith("procession.")
    compile(source, plant.file, "exec")


@pytest.mark.parametrize("name", _FOUND_AT_ONCE + _FOUND_IN_WHATSAPP)
def test_a_planted_bug_is_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = driver.planted(plant=name, seeds_max=10)

    shown = capsys.readouterr().out
    assert status == 1
    assert f"{name}: " in shown
    assert f"replay: procession selftest planted --plant {name}" in shown


def test_a_piece_that_is_not_there_any_more_is_said() -> None:
    gone = Plant(name="gone", what="nothing", file="core/ids.py", old="what nobody has written", new="")

    with pytest.raises(AssertionError, match="0 times"):
        changed_source(gone)


def test_an_unknown_plant_is_refused() -> None:
    with pytest.raises(BadRequest, match="--list"):
        planted.named("nobody")
