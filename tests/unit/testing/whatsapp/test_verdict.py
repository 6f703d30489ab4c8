"""The verdict finds each wrong that is planted, and no other."""

from collections.abc import Callable

import pytest

from procession.testing.whatsapp.book import Passage
from procession.testing.whatsapp.label import Named, Reply, bubbles, read_reply, written
from procession.testing.whatsapp.rules import FREE
from procession.testing.whatsapp.verdict import Promise, Verdict, verdict
from tests.unit.testing.whatsapp.scene import ACME, BOLT, Scene, text_to

TIMES = 3


def a_scene() -> Scene:
    return Scene(rules=FREE)


def judged(scene: Scene, promise: Promise | None = None) -> Verdict:
    scene.time.move(60)
    return verdict(scene.book, scene.people, promise)


def found(told: Verdict) -> dict[str, int]:
    return {name: often for name, often in told.counts().items() if often}


def test_what_a_text_says_is_found_in_its_echo() -> None:
    said = written("sim-1.7", 3, "at eight")

    assert bubbles(said, 2) == ["1/2 #sim-1.7:3 at eight", "2/2 #sim-1.7:3 at eight"]
    assert read_reply(bubbles(said, 2)[1]) == Reply(place=2, of=2, answers=(Named(label="sim-1.7", n=3),))
    assert read_reply("no label") is None
    assert read_reply("#sim-1.7:3 without a place") is None


def test_a_bot_that_keeps_its_promise_passes() -> None:
    scene = a_scene()
    for by in (scene.ana, scene.eve, scene.ana, scene.ben):
        scene.echo(by, scene.typed(by))

    told = judged(scene)

    assert told.holds, told.wrong
    assert (told.texts, told.taken, told.sends, told.shown) == (4, 4, 8, 8)


def test_nothing_that_was_shown_is_no_proof() -> None:
    assert not judged(a_scene()).holds


def doubled(scene: Scene) -> None:
    text = scene.typed(scene.ana)
    scene.echo(scene.ana, text)
    scene.echo(scene.ana, text, places=(2,))


def doubled_under_another_effect(scene: Scene) -> None:
    text = scene.typed(scene.ana)
    scene.echo(scene.ana, text)
    scene.send(scene.ana, bubbles(f"#acme.1:{text.n} hello", 2)[0], effect="another")


def lost(scene: Scene) -> None:
    scene.echo(scene.ana, scene.typed(scene.ana), places=(1,))


def unanswered(scene: Scene) -> None:
    scene.echo(scene.ana, scene.typed(scene.ana))
    scene.typed(scene.ana)


def swapped_texts(scene: Scene) -> None:
    first, second = scene.typed(scene.ana), scene.typed(scene.ana)
    scene.echo(scene.ana, second)
    scene.echo(scene.ana, first)


def swapped_bubbles(scene: Scene) -> None:
    scene.echo(scene.ana, scene.typed(scene.ana), places=(2, 1))


def mingled(scene: Scene) -> None:
    first, second = scene.typed(scene.ana), scene.typed(scene.ana)
    scene.echo(scene.ana, first, places=(1,))
    scene.echo(scene.ana, second)
    scene.echo(scene.ana, first, places=(2,))


def swapped_on_the_handset(scene: Scene) -> None:
    scene.echo(scene.ana, scene.typed(scene.ana))
    scene.ana.handset.shown.reverse()


def with_anothers_token(scene: Scene) -> None:
    scene.echo(scene.ana, scene.typed(scene.ana))
    scene.post(text_to("+4915100001", "x"), number=ACME, token=BOLT.token)


def with_anothers_text(scene: Scene) -> None:
    scene.echo(scene.ana, scene.typed(scene.ana))
    text = scene.typed(scene.eve)
    scene.echo(scene.eve, text)
    scene.send(scene.ana, bubbles(f"#bolt.1:{text.n} secret", 2)[0])


def to_somebody_else(scene: Scene) -> None:
    text = scene.typed(scene.ana)
    scene.echo(scene.ana, text)
    scene.send(scene.ben, bubbles(f"#acme.1:{text.n} hello", 2)[0])


def never_asked_for(scene: Scene) -> None:
    scene.echo(scene.ana, scene.typed(scene.ana))
    scene.send(scene.ana, "buy now")
    scene.send(scene.ana, "1/2 #acme.1:99 hello")


def not_taken(scene: Scene) -> None:
    scene.echo(scene.ana, scene.typed(scene.ana))
    scene.typed(scene.ben).passage = Passage(posted_at=1.0)


@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        (doubled, {"duplicate": 1}),
        (doubled_under_another_effect, {"duplicate": 1}),
        (lost, {"lost": 1}),
        (unanswered, {"lost": 2, "unanswered": 1}),
        (swapped_texts, {"out_of_order_accepted": 1, "out_of_order_shown": 1}),
        (swapped_bubbles, {"out_of_order_accepted": 2, "out_of_order_shown": 2}),
        (mingled, {"out_of_order_accepted": 1, "out_of_order_shown": 1}),
        (swapped_on_the_handset, {"out_of_order_shown": 2}),
        (with_anothers_token, {"cross_tenant": 1}),
        (with_anothers_text, {"cross_tenant": 1}),
        (to_somebody_else, {"astray": 1}),
        (never_asked_for, {"not_asked_for": 2}),
        (not_taken, {"not_taken": 1}),
    ],
)
def test_each_planted_wrong_is_found_and_counted(plant: Callable[[Scene], None], expected: dict[str, int]) -> None:
    scene = a_scene()
    plant(scene)

    told = judged(scene)

    assert found(told) == expected
    assert not told.holds
    assert told.wrong


def test_texts_whose_deliveries_overlapped_may_be_answered_either_way_round() -> None:
    scene = a_scene()
    first, second = scene.typed(scene.ana), scene.typed(scene.ana)
    first.passage = Passage(posted_at=0.0, taken_at=9.0, trip=1)
    second.passage = Passage(posted_at=1.0, taken_at=2.0, trip=2)
    scene.echo(scene.ana, second)
    scene.echo(scene.ana, first)

    assert judged(scene).holds


def test_texts_of_one_delivery_keep_its_order() -> None:
    scene = a_scene()
    first, second = scene.typed(scene.ana), scene.typed(scene.ana)
    first.passage = Passage(posted_at=0.0, taken_at=9.0, trip=1, index=0)
    second.passage = Passage(posted_at=0.0, taken_at=9.0, trip=1, index=1)
    scene.echo(scene.ana, second)
    scene.echo(scene.ana, first)

    assert found(judged(scene)) == {"out_of_order_accepted": 1, "out_of_order_shown": 1}


def test_one_reply_may_answer_a_whole_burst() -> None:
    scene = a_scene()
    for _ in range(TIMES):
        scene.typed(scene.ana)
    scene.send(scene.ana, "1/1 you said #acme.1:1 and #acme.1:2 and #acme.1:3", effect="f1")

    assert judged(scene, Promise(bubbles=1)).holds


def test_of_a_bot_without_a_promise_only_what_holds_for_any_is_judged() -> None:
    scene = a_scene()
    scene.typed(scene.ana)
    for number in range(TIMES):
        scene.send(scene.ana, f"whatever {number}", effect=f"f{number}")
        scene.time.move(60)
    assert judged(scene, Promise(bubbles=None)).holds

    scene.typed(scene.ana)
    assert found(judged(scene, Promise(bubbles=None))) == {"unanswered": 1}

    scene.send(scene.ana, "again", effect="f1")
    scene.time.move(60)
    scene.ana.handset.shown.reverse()
    assert found(judged(scene, Promise(bubbles=None))) == {"duplicate": 1, "out_of_order_shown": TIMES}
