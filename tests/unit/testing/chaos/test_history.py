"""The record keeps one order, and reads back as it was written."""

from pathlib import Path

from procession.app.system import SystemClock
from procession.testing.chaos import Answered, Fault, History, Outcome, Posted, Wired, read_history

HAPPENINGS = (
    Posted(req=1, event="e1", lane="a", n=1, attempt=1),
    Answered(req=1, event="e1", outcome=Outcome.INFO, why="cut"),
    Posted(req=2, event="e1", lane="a", n=1, attempt=0, is_copy=True),
    Answered(req=2, event="e1", outcome=Outcome.OK, status=200),
    Fault(fault="kill", target="serve"),
    Wired(effect="f", event="e1", lane="a", n=1, oseq=None, accepted=True, is_repeat=False, answer="cut"),
)


def test_what_is_written_is_read_back_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with History(path, SystemClock()) as history:
        numbers = [history.append(happening) for happening in HAPPENINGS]
        entries = history.entries

    assert numbers == [1, 2, 3, 4, 5, 6]
    assert tuple(entry.happening for entry in entries) == HAPPENINGS
    assert tuple(read_history(path)) == entries


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with History(path, SystemClock()) as history:
        for happening in HAPPENINGS:
            history.append(happening)
    path.write_bytes(path.read_bytes()[:-10])

    assert [entry.happening for entry in read_history(path)] == list(HAPPENINGS[:-1])
