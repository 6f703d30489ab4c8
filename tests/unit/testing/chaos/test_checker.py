"""A good run has no findings, and each way in which a run can be bad has its own."""

from dataclasses import replace

import pytest

from procession.testing.chaos import (
    Answered,
    EffectEnd,
    Entry,
    EventEnd,
    Fault,
    FinalState,
    Outcome,
    Posted,
    StoredEffect,
    StoredEvent,
    Verdict,
    Wired,
    check,
)
from procession.testing.chaos.history import Happening

CLEAN = {
    "accepted": 4,
    "lost": 0,
    "duplicates": 0,
    "out_of_order": 0,
    "set_aside_wrongly": 0,
    "phantom": 0,
    "gaps": 0,
    "unfinished": 0,
}


class Run:
    """Two lanes of two events each, all played and sent; tests then break one thing."""

    def __init__(self) -> None:
        self.happenings: list[Happening] = []
        for lane in ("a", "b"):
            for n in (1, 2):
                self.post(lane, n)
                self.answer(lane, n)
        for lane in ("a", "b"):
            for n in (1, 2):
                self.wire(lane, n)
        self.events = [
            StoredEvent(event=f"{lane}{n}", lane=lane, seq=n, end=EventEnd.DONE) for lane in ("a", "b") for n in (1, 2)
        ]
        self.effects = [
            StoredEffect(effect=f"fx-{e.event}", event=e.event, lane=e.lane, oseq=e.seq, end=EffectEnd.CONFIRMED)
            for e in self.events
        ]

    def post(self, lane: str, n: int) -> None:
        self.happenings.append(Posted(req=n, event=f"{lane}{n}", lane=lane, n=n, attempt=1))

    def answer(self, lane: str, n: int, outcome: Outcome = Outcome.OK) -> None:
        self.happenings.append(Answered(req=n, event=f"{lane}{n}", outcome=outcome))

    def wire(self, lane: str, n: int, *, effect: str = "", accepted: bool = True, is_repeat: bool = False) -> None:
        self.happenings.append(
            Wired(
                effect=effect or f"fx-{lane}{n}",
                event=f"{lane}{n}",
                lane=lane,
                n=n,
                oseq=n,
                accepted=accepted,
                is_repeat=is_repeat,
                answer="200",
            )
        )

    def drop(self, kind: type[Happening], event: str) -> None:
        self.happenings = [
            one for one in self.happenings if not (isinstance(one, kind) and getattr(one, "event", "") == event)
        ]

    def end_event(self, event: str, end: EventEnd) -> None:
        self.events = [replace(one, end=end) if one.event == event else one for one in self.events]

    def end_effect(self, event: str, end: EffectEnd) -> None:
        self.effects = [replace(one, end=end) if one.event == event else one for one in self.effects]

    def swap(self, one: int, other: int) -> None:
        self.happenings[one], self.happenings[other] = self.happenings[other], self.happenings[one]

    def verdict(self, *poison: str) -> Verdict:
        history = [Entry(h=h, at=float(h), happening=happening) for h, happening in enumerate(self.happenings, 1)]
        return check(history, FinalState(events=tuple(self.events), effects=tuple(self.effects)), frozenset(poison))


@pytest.fixture
def run() -> Run:
    return Run()


def only(verdict: Verdict, name: str, rule: str, times: int = 1) -> None:
    assert verdict.counts() | {"accepted": 4} == CLEAN | {name: times}, verdict.findings
    assert {finding.rule for finding in verdict.findings} == {rule}


def test_a_good_run_has_no_findings(run: Run) -> None:
    assert run.verdict().counts() == CLEAN
    assert run.verdict().findings == ()


def test_faults_retries_copies_and_dropped_repeats_are_no_findings(run: Run) -> None:
    run.happenings.insert(0, Posted(req=90, event="a1", lane="a", n=1, attempt=1))
    run.happenings.insert(1, Answered(req=90, event="a1", outcome=Outcome.INFO))
    run.happenings.append(Fault(fault="kill", target="serve"))
    run.post("a", 1)
    run.answer("a", 1)
    run.wire("a", 2, accepted=False, is_repeat=True)

    assert run.verdict().counts() == CLEAN


def test_an_accepted_event_that_is_not_stored_is_lost(run: Run) -> None:
    run.events = [event for event in run.events if event.event != "b2"]
    run.effects = [effect for effect in run.effects if effect.event != "b2"]
    run.drop(Wired, "b2")

    only(run.verdict(), "lost", "S1")


def test_an_event_that_was_never_accepted_may_be_missing(run: Run) -> None:
    run.post("b", 3)
    run.answer("b", 3, Outcome.INFO)

    assert run.verdict().counts() == CLEAN


def test_an_event_of_unknown_outcome_may_be_stored(run: Run) -> None:
    run.drop(Answered, "b2")
    run.answer("b", 2, Outcome.INFO)

    assert run.verdict().counts() == CLEAN | {"accepted": 3}


def test_a_done_event_without_its_effect_has_lost_it(run: Run) -> None:
    run.effects = [effect for effect in run.effects if effect.event != "b2"]
    run.drop(Wired, "b2")

    only(run.verdict(), "lost", "S4")


def test_a_confirmed_effect_that_the_provider_never_took_is_lost(run: Run) -> None:
    run.drop(Wired, "b2")

    only(run.verdict(), "lost", "S9")


def test_a_confirmed_effect_that_was_only_refused_is_lost(run: Run) -> None:
    run.drop(Wired, "b2")
    run.wire("b", 2, accepted=False)

    only(run.verdict(), "lost", "S9")


def test_an_event_stored_twice_is_a_duplicate(run: Run) -> None:
    run.events.append(StoredEvent(event="b2", lane="b", seq=3, end=EventEnd.DONE))

    only(run.verdict(), "duplicates", "S3")


def test_two_effects_of_one_event_are_a_duplicate(run: Run) -> None:
    run.effects.append(StoredEffect(effect="fx-again", event="b2", lane="b", oseq=3, end=EffectEnd.CANCELLED))

    only(run.verdict(), "duplicates", "S4")


def test_an_effect_that_the_provider_took_twice_is_a_duplicate(run: Run) -> None:
    run.wire("b", 2)

    only(run.verdict(), "duplicates", "S8")


def test_one_event_that_reached_the_provider_as_two_effects_is_a_duplicate(run: Run) -> None:
    run.effects.append(StoredEffect(effect="fx-again", event="b2", lane="b", oseq=3, end=EffectEnd.CONFIRMED))
    run.wire("b", 2, effect="fx-again")

    assert {finding.rule for finding in run.verdict().duplicates} == {"S4", "S8"}


def test_a_seq_against_the_order_of_acceptance_is_out_of_order(run: Run) -> None:
    one, two = run.events[0], run.events[1]
    run.events[:2] = [replace(one, seq=2), replace(two, seq=1)]

    verdict = run.verdict()

    assert {finding.rule for finding in verdict.out_of_order} == {"S5", "S5c"}, verdict.findings


def test_events_posted_at_the_same_time_may_be_stored_in_either_order(run: Run) -> None:
    run.swap(1, 2)  # a2 is posted before a1 is answered
    run.events[:2] = [replace(run.events[0], seq=2), replace(run.events[1], seq=1)]
    run.effects[:2] = [replace(run.effects[0], oseq=2), replace(run.effects[1], oseq=1)]
    run.swap(8, 9)

    assert run.verdict().counts() == CLEAN


def test_an_effect_that_overtakes_is_out_of_order(run: Run) -> None:
    run.swap(8, 9)

    verdict = run.verdict()

    assert {finding.rule for finding in verdict.out_of_order} == {"S5c"}
    assert "fx-a2 was sent before fx-a1 was taken" in [finding.why for finding in verdict.out_of_order]


def test_an_overtaking_far_behind_is_found_over_settled_ones_between(run: Run) -> None:
    run.post("a", 3)
    run.answer("a", 3)
    run.events.append(StoredEvent(event="a3", lane="a", seq=3, end=EventEnd.DONE))
    run.effects.append(StoredEffect(effect="fx-a3", event="a3", lane="a", oseq=3, end=EffectEnd.CONFIRMED))
    run.end_effect("a2", EffectEnd.SKIPPED)
    run.drop(Wired, "a2")
    run.drop(Wired, "a1")
    run.wire("a", 3)
    run.wire("a", 1)

    assert "fx-a3 was sent before fx-a1 was taken" in [finding.why for finding in run.verdict().out_of_order]


def test_a_try_that_was_not_taken_does_not_open_the_gate(run: Run) -> None:
    run.drop(Wired, "a1")
    run.drop(Wired, "a2")
    run.wire("a", 1, accepted=False)
    run.wire("a", 2)
    run.wire("a", 1)

    assert [finding.rule for finding in run.verdict().out_of_order] == ["S5c", "S5c"]


def test_an_effect_behind_one_that_was_refused_or_skipped_may_pass(run: Run) -> None:
    run.drop(Wired, "a1")
    run.end_effect("a1", EffectEnd.REFUSED)

    assert run.verdict().counts() == CLEAN


def test_an_effect_behind_one_in_doubt_may_not_pass(run: Run) -> None:
    run.end_effect("a1", EffectEnd.IN_DOUBT)

    only(run.verdict(), "out_of_order", "S5c")


def test_effects_against_the_order_of_their_turns_are_out_of_order(run: Run) -> None:
    run.effects[:2] = [replace(run.effects[0], oseq=2), replace(run.effects[1], oseq=1)]
    run.swap(8, 9)

    assert {finding.rule for finding in run.verdict().out_of_order} == {"S5c"}


def test_a_sound_event_that_is_set_aside_is_a_finding(run: Run) -> None:
    run.end_event("b2", EventEnd.SET_ASIDE)

    assert [finding.rule for finding in run.verdict().set_aside_wrongly] == ["S14"]


def test_a_poisonous_event_may_be_set_aside(run: Run) -> None:
    run.end_event("b2", EventEnd.SET_ASIDE)
    run.effects = [effect for effect in run.effects if effect.event != "b2"]
    run.drop(Wired, "b2")

    assert run.verdict("b2").counts() == CLEAN


@pytest.mark.parametrize("end", [EventEnd.DROPPED, EventEnd.QUARANTINED])
def test_an_event_that_nobody_asked_to_drop_is_a_finding(run: Run, end: EventEnd) -> None:
    run.end_event("b2", end)

    assert len(run.verdict().set_aside_wrongly) == 1


def test_an_event_that_nobody_posted_is_a_phantom(run: Run) -> None:
    run.drop(Posted, "b2")
    run.drop(Answered, "b2")

    only(run.verdict(), "phantom", "S2")


def test_an_event_of_which_every_post_was_refused_is_a_phantom(run: Run) -> None:
    run.drop(Answered, "b2")
    run.answer("b", 2, Outcome.FAIL)

    only(run.verdict(), "phantom", "S2")


def test_a_send_that_the_store_does_not_know_is_a_phantom(run: Run) -> None:
    run.wire("b", 2, effect="fx-unknown", accepted=False)

    only(run.verdict(), "phantom", "S9")


def test_a_send_that_the_store_has_as_never_begun_is_a_phantom(run: Run) -> None:
    run.end_effect("b2", EffectEnd.PENDING)

    assert [finding.rule for finding in run.verdict().phantom] == ["S9"]


def test_a_send_under_the_id_of_another_event_is_a_phantom(run: Run) -> None:
    run.drop(Wired, "b2")
    run.wire("b", 2, effect="fx-b1")

    assert "S9" in [finding.rule for finding in run.verdict().phantom]


def test_an_effect_of_an_unknown_event_is_a_phantom(run: Run) -> None:
    run.effects.append(StoredEffect(effect="fx-c1", event="c1", lane="c", oseq=1, end=EffectEnd.CANCELLED))

    only(run.verdict(), "phantom", "S9")


def test_a_hole_in_seq_is_a_gap(run: Run) -> None:
    run.events[1] = replace(run.events[1], seq=3)

    only(run.verdict(), "gaps", "S6")


def test_a_hole_in_oseq_is_a_gap(run: Run) -> None:
    run.effects[1] = replace(run.effects[1], oseq=3)

    only(run.verdict(), "gaps", "S6")


def test_what_still_waits_after_healing_is_unfinished(run: Run) -> None:
    run.end_event("b2", EventEnd.WAITING)
    run.effects = [effect for effect in run.effects if effect.event != "b2"]
    run.drop(Wired, "b2")

    only(run.verdict(), "unfinished", "L4")


def test_an_effect_that_is_still_armed_is_unfinished(run: Run) -> None:
    run.end_effect("b2", EffectEnd.ARMED)

    only(run.verdict(), "unfinished", "L4")


def test_the_late_2xx_of_a_copy_does_not_hide_that_the_event_was_accepted_before(run: Run) -> None:
    run.effects[:2] = [replace(run.effects[0], oseq=2), replace(run.effects[1], oseq=1)]
    run.events[:2] = [replace(run.events[0], seq=2), replace(run.events[1], seq=1)]
    run.swap(8, 9)
    run.post("a", 1)
    run.answer("a", 1)

    assert {finding.rule for finding in run.verdict().out_of_order} == {"S5", "S5c"}


def test_an_event_with_one_refused_and_one_unclear_post_may_be_stored(run: Run) -> None:
    run.drop(Answered, "b2")
    run.answer("b", 2, Outcome.FAIL)
    run.post("b", 2)
    run.answer("b", 2, Outcome.INFO)

    assert run.verdict().counts() == CLEAN | {"accepted": 3}
