"""Graph's rules: who may send what to whom, how often, and what is answered."""

import json

import pytest

from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.rules import FREE, Rules
from tests.unit.testing.whatsapp.scene import ACME, BOLT, Scene, code, text_to


def test_a_send_is_accepted_and_named() -> None:
    scene = Scene()
    scene.typed(scene.ana)

    reaction = scene.send(scene.ana, "hello", effect="f1")

    assert reaction.status == 200
    document = json.loads(reaction.body)
    assert document["contacts"] == [{"input": "+4915100001", "wa_id": "4915100001", "user_id": "DE.1"}]
    (sent,) = scene.book.accepted
    assert document["messages"] == [{"id": sent.wamid}]
    assert (sent.effect, sent.token, sent.label, sent.body) == ("f1", "token-acme", "acme.1", "hello")


def test_a_business_scoped_id_reaches_the_same_person() -> None:
    scene = Scene()
    scene.typed(scene.ana)
    document = {**text_to("", "hello"), "recipient": "DE.1"}

    assert scene.post({name: value for name, value in document.items() if name != "to"}).status == 200
    assert scene.book.accepted[0].label == "acme.1"


def test_a_wrong_token_is_refused_and_another_tenants_is_a_trespass() -> None:
    scene = Scene()

    wrong = scene.post(text_to("+4915100001", "x"), token="nobody's")
    assert (wrong.status, code(wrong)) == (401, 190)
    assert not scene.book.trespasses

    assert code(scene.post(text_to("+4915100001", "x"), token=BOLT.token)) == 190
    assert len(scene.book.trespasses) == 1


def test_a_person_of_another_number_cannot_be_reached_and_that_is_a_trespass() -> None:
    scene = Scene()
    scene.typed(scene.eve)

    assert code(scene.send(scene.eve, "x", number=ACME)) == 131026
    assert len(scene.book.trespasses) == 1


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([], 100),
        ({"to": "+4915100001", "type": "text", "text": {"body": "x"}}, 100),
        ({**text_to("+4915100001", "x"), "type": "telegram"}, 100),
        ({**text_to("+4915100001", "x"), "to": None}, 131008),
        ({**text_to("+4915100001", "x"), "text": {}}, 131008),
        (text_to("+4915100001", "x" * 4097), 131009),
        (text_to("+4999999999", "x"), 131026),
        ({"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.unknown"}, 131009),
        ({"messaging_product": "whatsapp", "status": "seen", "message_id": "wamid.unknown"}, 100),
    ],
)
def test_what_is_not_of_the_right_shape_is_refused_by_code(document: object, expected: int) -> None:
    scene = Scene()
    scene.typed(scene.ana)

    reaction = scene.post(document)

    assert (reaction.status, code(reaction)) == (400, expected)
    assert not scene.book.accepted
    assert scene.book.refused == {expected: 1}


def test_another_path_or_number_is_refused() -> None:
    scene = Scene()

    assert code(scene.graph.asked("GET", "/v25.0/101/messages", ACME.token, b"")) == 100
    assert code(scene.graph.asked("POST", "/v25.0/101/register", ACME.token, b"")) == 100
    assert code(scene.graph.asked("POST", "/v25.0/999/messages", ACME.token, b"{}")) == 100


def test_read_marks_and_typing_are_taken_for_a_text_that_came() -> None:
    scene = Scene()
    text = scene.typed(scene.ana)
    mark = {"messaging_product": "whatsapp", "status": "read", "message_id": text.wamid}

    for document in (mark, {**mark, "typing_indicator": {"type": "text"}}):
        assert json.loads(scene.post(document).body) == {"success": True}
    assert code(scene.post(mark, number=BOLT)) == 131009
    assert scene.book.marks == 2


def test_the_window_is_open_for_a_day_and_templates_go_at_any_time() -> None:
    scene = Scene()
    template = {**text_to("+4915100001", "x"), "type": "template", "template": {"name": "hello"}}

    assert code(scene.send(scene.ana, "never written")) == 131047
    assert scene.post(template).status == 200
    scene.typed(scene.ana)
    scene.time.move(24 * 3600 - 1)
    assert scene.send(scene.ana, "still open").status == 200
    scene.time.move(2)
    assert code(scene.send(scene.ana, "closed")) == 131047
    assert scene.send(scene.ben, "x").status == 400


def test_a_pair_may_burst_45_and_then_pays_the_debt() -> None:
    scene = Scene(rules=Rules(per_second=None))
    scene.typed(scene.ana)

    taken = [scene.send(scene.ana, "x").status for _ in range(45)]
    assert taken == [200] * 45
    assert code(scene.send(scene.ana, "x")) == 131056
    scene.time.move(45 * 6 - 2)
    assert code(scene.send(scene.ana, "x")) == 131056
    scene.time.move(2)
    assert scene.send(scene.ana, "x").status == 200


def test_one_send_in_six_seconds_never_meets_the_pair_rate_and_others_are_not_held() -> None:
    scene = Scene(rules=Rules(pair_burst=1))
    for writer in (scene.ana, scene.ben):
        scene.typed(writer)

    for _ in range(20):
        assert scene.send(scene.ana, "x").status == 200
        assert code(scene.send(scene.ana, "x")) == 131056
        assert scene.send(scene.ben, "x").status == 200
        scene.time.move(6)


def test_a_numbers_throughput_counts_both_ways() -> None:
    scene = Scene(rules=Rules(per_second=4, pair_every_s=None))
    scene.time.move(1)
    scene.typed(scene.ana)

    assert [scene.send(scene.ana, "x").status for _ in range(4)] == [200, 200, 200, 400]
    assert scene.book.refused == {130429: 1}
    scene.time.move(1)
    assert scene.send(scene.ana, "x").status == 200


def test_every_rule_can_be_switched_off() -> None:
    scene = Scene(rules=FREE)

    taken = [scene.send(scene.ana, "x" * 5000).status for _ in range(200)]

    assert set(taken) == {200}


@pytest.mark.parametrize(
    ("faults", "status", "accepted"),
    [
        (Faults(error_before=1.0), 500, 0),
        (Faults(throttled=1.0), 400, 0),
        (Faults(error_after=1.0), 500, 1),
        (Faults(garbage_after=1.0), 200, 1),
    ],
)
def test_a_fault_answers_one_thing_and_does_another(faults: Faults, status: int, accepted: int) -> None:
    scene = Scene(faults=faults)
    scene.typed(scene.ana)

    assert scene.send(scene.ana, "x").status == status
    assert len(scene.book.accepted) == accepted
    assert sum(scene.book.faults.values()) == 1


def test_an_answer_may_come_late_or_never_or_be_cut_after_it_was_accepted() -> None:
    late, silent, cut = (
        Scene(faults=faults)
        for faults in (Faults(late_after=1.0, late_s=10.0), Faults(silent_after=1.0), Faults(cut_after=1.0))
    )
    for scene in (late, silent, cut):
        scene.typed(scene.ana)

    assert 5.0 <= late.send(late.ana, "x").after <= 10.0
    assert silent.send(silent.ana, "x").is_silent
    assert cut.send(cut.ana, "x").is_cut
    assert [len(scene.book.accepted) for scene in (late, silent, cut)] == [1, 1, 1]


def test_graph_takes_its_time_to_answer_what_it_has_accepted() -> None:
    scene = Scene(rules=Rules(answer_s=(0.3, 1.2)))
    scene.typed(scene.ana)

    answered = scene.send(scene.ana, "x")

    assert 0.3 <= answered.after <= 1.2
    assert [sent.at for sent in scene.book.accepted] == [scene.time.seconds()]
    assert scene.send(scene.eve, "x", number=ACME).after == 0.0


def test_names_that_were_given_up_still_reach_their_person() -> None:
    scene = Scene()
    scene.typed(scene.ana)
    scene.ana.move("4915100009", "DE.9")

    for to in ("+4915100001", "+4915100009"):
        assert scene.post(text_to(to, "x")).status == 200
    assert {sent.label for sent in scene.book.accepted} == {"acme.1"}
