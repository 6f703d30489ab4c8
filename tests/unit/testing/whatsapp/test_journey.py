"""An accepted send reaches its handset, and its statuses come back; each on its own time."""

from collections import defaultdict

from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.person import Shows
from procession.testing.whatsapp.rules import FREE
from tests.unit.testing.whatsapp.scene import Scene, text_to

MANY = 300
NATURAL = ["sent", "delivered", "read"]


def statuses(scene: Scene) -> list[dict[str, object]]:
    return scene.wire.values("statuses")


def sent_many(faults: Faults | None = None, *, apart: float = 20.0) -> Scene:
    scene = Scene(rules=FREE, faults=faults)
    for number in range(MANY):
        scene.send(scene.ana, f"bubble {number}", effect=f"f{number}")
        scene.time.move(apart)
    scene.time.move(60)
    return scene


def told_of(scene: Scene) -> dict[object, list[str]]:
    """What came of each send, in the order in which it came."""
    told: dict[object, list[str]] = defaultdict(list)
    for one in statuses(scene):
        told[one["biz_opaque_callback_data"]].append(str(one["status"]))
    return told


def test_statuses_come_back_signed_and_echo_what_came_along() -> None:
    scene = Scene(rules=FREE)
    scene.send(scene.ana, "hello", effect="f1")

    scene.time.move(60)

    (sent,) = scene.book.accepted
    first = statuses(scene)[0]
    assert first["status"] == "sent"
    assert (first["id"], first["biz_opaque_callback_data"]) == (sent.wamid, "f1")
    assert (first["recipient_id"], first["recipient_user_id"]) == ("4915100001", "DE.1")
    assert str(first["timestamp"]).isdecimal()
    assert all(one.headers["X-Hub-Signature-256"].startswith("sha256=") for one in scene.wire.carried)
    assert scene.journeys.under_way == 0


def test_what_the_target_was_told_climbs_and_never_falls() -> None:
    scene = Scene(rules=FREE, faults=Faults(status_reversed=0.5, status_doubled=0.5))
    for _ in range(30):
        scene.send(scene.ana, "hello")
    assert not scene.book.told

    scene.time.move(60)

    seen: dict[object, set[object]] = defaultdict(set)
    for status in statuses(scene):
        seen[status["id"]].add(status["status"])
    far = ("read", "delivered", "sent")
    assert scene.book.told == {wamid: next(one for one in far if one in told) for wamid, told in seen.items()}


def test_whose_phone_is_not_shown_is_told_by_id_only() -> None:
    scene = Scene(rules=FREE)
    scene.ana.shows = Shows.ID_ONLY
    scene.send(scene.ana, "hello")

    scene.time.move(60)

    assert "recipient_id" not in statuses(scene)[0]
    assert "biz_opaque_callback_data" not in statuses(scene)[0]


def test_every_bubble_is_shown_once_and_some_are_read_without_having_been_delivered() -> None:
    scene = sent_many()

    assert len(scene.ana.handset.shown) == MANY
    ways = {frozenset(told) for told in told_of(scene).values()}
    assert ways == {frozenset(way.split()) for way in ("sent delivered", "sent read", "sent delivered read")}


def test_what_is_sent_without_waiting_may_be_shown_in_another_order() -> None:
    hasty, patient = sent_many(apart=0.05), sent_many(apart=20.0)

    assert [bubble.effect for bubble in patient.ana.handset.shown] == [f"f{number}" for number in range(MANY)]
    assert [bubble.effect for bubble in hasty.ana.handset.shown] != [f"f{number}" for number in range(MANY)]


def test_a_reaction_is_only_ever_sent() -> None:
    scene = Scene(rules=FREE)
    scene.post({**text_to("+4915100001", ""), "type": "reaction", "reaction": {"message_id": "wamid.x", "emoji": "+"}})

    scene.time.move(60)

    assert [one["status"] for one in statuses(scene)] == ["sent"]


def test_statuses_are_lost_doubled_reversed_and_late_by_their_shares() -> None:
    lost = sent_many(Faults(status_lost=1.0))
    assert statuses(lost) == []
    assert len(lost.ana.handset.shown) == MANY

    doubled = sent_many(Faults(status_doubled=1.0))
    assert all(told.count("sent") == 2 for told in told_of(doubled).values())

    reversed_ = sent_many(Faults(status_reversed=1.0))
    overtaken = [told for told in told_of(reversed_).values() if told != sorted(told, key=NATURAL.index)]
    assert len(overtaken) == MANY

    late = Scene(rules=FREE, faults=Faults(status_late=1.0, late_s=100.0))
    late.send(late.ana, "hello")
    late.time.move(40)
    assert statuses(late) == []
    late.time.move(100)
    assert statuses(late)


def test_no_status_is_told_before_it_has_happened() -> None:
    scene = Scene(rules=FREE, faults=Faults(status_reversed=0.5, status_doubled=0.5, status_late=0.5))
    early: list[str] = []
    for number in range(MANY // 3):
        scene.send(scene.ana, f"bubble {number}", effect=f"f{number}")
        for _ in range(40):
            scene.time.move(0.25)
            shown = {bubble.effect for bubble in scene.ana.handset.shown}
            early += [
                str(effect) for effect, told in told_of(scene).items() if {*told} - {"sent"} and effect not in shown
            ]
            scene.wire.carried.clear()

    assert early == []
