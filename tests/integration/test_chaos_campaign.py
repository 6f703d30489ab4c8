"""The campaign on real processes: the engine passes a small one, and a careless engine is convicted."""

import shutil
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from procession.app.system import SystemClock
from procession.testing.chaos import campaign
from procession.testing.chaos.campaign import Campaign, Result
from procession.testing.chaos.driver import report_of
from procession.testing.powercut.build import COMPILERS

pytestmark = [pytest.mark.serial, pytest.mark.timeout(300)]

CARELESS = Path(__file__).with_name("careless.py")
HAS_COMPILER = any(map(shutil.which, COMPILERS))


async def ran(folder: Path, *, kills: int, powercuts: int = 0, launcher: tuple[str, ...] | None = None) -> Result:
    return await Campaign(
        folder,
        kills=kills,
        powercuts=powercuts,
        seed=7,
        clock=SystemClock(),
        show=lambda _what, _done, _of: None,
        launcher=launcher,
    ).run()


async def test_nothing_is_lost_doubled_or_out_of_order_when_the_engine_is_killed(tmp_path: Path) -> None:
    result = await ran(tmp_path, kills=6, powercuts=2 if HAS_COMPILER else 0)

    assert result.findings == ()
    report = report_of(result)
    assert report["kills"] == 6
    assert isinstance(report["accepted"], int)
    assert report["accepted"] >= 6 * campaign.EVENTS_A_KILL
    assert result.tally.kills_with_turns_in_flight > 0


async def test_an_engine_that_answers_before_it_keeps_is_convicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "EVENTS_A_KILL", 100)
    monkeypatch.setattr(campaign, "QUIET_WITHIN", timedelta(seconds=20))

    result = await ran(tmp_path, kills=3, launcher=(sys.executable, str(CARELESS)))

    assert result.verdict.lost
