"""A handler that sleeps past its lease, in a process that was stopped meanwhile: it has lost its turn, and notices."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engines import PATIENCE_S, House, appears, house_in

LEASE_S = 1.0

APPLICATION = """
import json
from pathlib import Path
from urllib.request import urlopen
from procession import App, LaneLost, PlainTurn

app = App()

@app.on("hold")
def hold(turn: PlainTurn) -> None:
    first = turn.tries == 1
    turn.reply("of the first try" if first else "of the second try")
    with urlopen(turn.event.data["at"]) as held:
        held.read()
    if first:
        refused = []
        for verb, late in (("step", lambda: turn.step("late", int)), ("send", turn.flush)):
            try:
                late()
            except LaneLost:
                refused.append(verb)
        Path("refused.new").write_text(json.dumps(refused))
        Path("refused.new").rename("refused.json")
    turn.state["played"] = turn.state.get("played", 0) + 1
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as house:
        (tmp_path / "bot.py").write_text(APPLICATION)
        yield house


@pytest.mark.serial
def test_the_late_settle_step_and_send_of_a_handler_that_slept_past_its_lease_are_refused(house: House) -> None:
    with house.engine("--lease", f"{LEASE_S}s", "--log", "note") as engine:
        engine.deliver({"id": "e1", "who": "bob", "kind": "hold", "at": house.provider.url})
        house.provider.holds.get(timeout=PATIENCE_S)

        engine.stand_still(2 * LEASE_S)
        house.provider.holds.get(timeout=PATIENCE_S)  # its turn is being played again
        house.provider.let_go.set()

        taken = house.provider.next()
        refused = json.loads(appears(house.folder / "refused.json"))
        assert engine.stop() == 0

    assert taken.json["reply"] == "of the second try"
    assert refused == ["step", "send"]
    assert house.provider.taken.empty()
    (view,) = house.ask("why", "e1")
    assert view["state"] == "done"
    assert [effect["attempts"] for effect in view["effects"]] == [1]
