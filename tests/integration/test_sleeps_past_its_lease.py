"""A handler that sleeps past its lease, in a process that was stopped meanwhile: it has lost its turn, and notices."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engines import PATIENCE_S, House, house_in

LEASE_S = 1.0

APPLICATION = """
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
        Path("refused.json").write_text(__import__("json").dumps(refused))
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

        # The length of the stop is the very thing that is tested: longer than the lease, however slow the machine.
        engine.signal(signal.SIGSTOP)
        time.sleep(2 * LEASE_S)
        engine.signal(signal.SIGCONT)
        house.provider.holds.get(timeout=PATIENCE_S)  # its turn is being played again
        house.provider.let_go.set()

        taken = house.provider.next()
        until = time.monotonic() + PATIENCE_S
        while not (house.folder / "refused.json").exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert engine.stop() == 0

    assert taken.json["reply"] == "of the second try"
    assert json.loads((house.folder / "refused.json").read_text()) == ["step", "send"]
    assert house.provider.taken.empty()
    (view,) = house.ask("why", "e1")
    assert view["state"] == "done"
    assert [effect["attempts"] for effect in view["effects"]] == [1]
