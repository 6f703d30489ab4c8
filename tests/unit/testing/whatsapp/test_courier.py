"""Webhooks reach the target as Meta brings them: signed, again until 200, some together, some twice."""

import hashlib
import hmac

from procession.testing.whatsapp.book import Passage
from procession.testing.whatsapp.courier import Habits
from procession.testing.whatsapp.person import Person, Shows
from procession.testing.whatsapp.webhook import Element, delivery_of, moved_element, text_element
from tests.unit.testing.whatsapp.scene import ACME, BEGINNING, BOLT, SECRET, Scene, Wire, person

PLAIN = Habits(redelivered=0.0, batched=0.0, jitter_s=0.0)


def text_of(by: Person, n: int = 1) -> Element:
    return text_element(by, f"wamid.{by.label}.{n}", f"text {n}", BEGINNING, Passage())


def test_a_text_is_signed_over_its_bytes_and_stands_under_its_number() -> None:
    scene = Scene()

    scene.courier.send(text_of(scene.ana))
    scene.time.move(0)

    (carried,) = scene.wire.carried
    wanted = hmac.new(SECRET, carried.body, hashlib.sha256).hexdigest()
    assert carried.headers["X-Hub-Signature-256"] == f"sha256={wanted}"
    (entry,) = carried.json["entry"]
    assert entry["id"] == "201"
    value = entry["changes"][0]["value"]
    assert value["metadata"] == {"display_phone_number": "+49301", "phone_number_id": "101"}
    assert value["contacts"] == [{"profile": {"name": "acme.1"}, "wa_id": "4915100001", "user_id": "DE.1"}]
    assert value["messages"] == [
        {
            "from": "4915100001",
            "from_user_id": "DE.1",
            "id": "wamid.acme.1.1",
            "timestamp": str(int(BEGINNING.timestamp())),
            "type": "text",
            "text": {"body": "text 1"},
        }
    ]


def test_it_comes_again_with_longer_and_longer_pauses_until_it_is_taken() -> None:
    scene = Scene(wire=Wire(None, 503, 401, 200))
    element = text_of(scene.ana)

    scene.courier.send(element)
    scene.time.move(0.1)
    assert len(scene.wire.carried) == 1
    assert (element.passage.posted_at, element.passage.taken_at) == (0.0, None)
    assert scene.courier.outstanding == 1
    scene.time.move(30)

    assert len(scene.wire.carried) == 4
    assert len({one.body for one in scene.wire.carried}) == 1
    assert element.passage.taken_at is not None
    assert scene.courier.outstanding == 0


def test_a_redelivery_is_the_same_body_once_more_even_after_its_200() -> None:
    scene = Scene(habits=Habits(redelivered=1.0, batched=0.0))

    for n in range(20):
        scene.courier.send(text_of(scene.ana, n))
    scene.time.move(30)

    bodies = [one.body for one in scene.wire.carried]
    assert sorted(bodies) == sorted([*set(bodies), *set(bodies)])
    assert (scene.book.deliveries, scene.book.repeated) == (40, 20)
    assert scene.courier.outstanding == 0


def test_elements_of_several_tenants_travel_in_one_delivery() -> None:
    scene = Scene(habits=Habits(redelivered=0.0, batched=1.0, jitter_s=0.0))

    for by in (scene.ana, scene.ben, scene.eve, scene.ana):
        scene.courier.send(text_of(by))
    scene.time.move(5)

    (carried,) = scene.wire.carried
    assert [entry["id"] for entry in carried.json["entry"]] == ["201", "202", "201"]
    assert len(scene.wire.values("messages")) == 4
    assert [len(entry["changes"][0]["value"]["messages"]) for entry in carried.json["entry"]] == [2, 1, 1]


def test_deliveries_overtake_one_another() -> None:
    scene = Scene(habits=Habits(redelivered=0.0, batched=0.0, jitter_s=1.0))

    for n in range(20):
        scene.courier.send(text_of(scene.ana, n))
    scene.time.move(5)

    arrived = [element["id"] for element in scene.wire.values("messages")]
    assert arrived != sorted(arrived, key=lambda wamid: int(str(wamid).rpartition(".")[2]))


def test_names_are_shown_or_not_as_it_is_with_each_person() -> None:
    seen: dict[Shows, list[tuple[bool, bool]]] = {}
    for shows in Shows:
        somebody = person(ACME, "acme.9", "49159", "DE.9", shows)
        for somebody.typed in (1, 2, 3, 4):
            value = text_of(somebody).value
            seen.setdefault(shows, []).append(("from" in value, "from_user_id" in value))

    assert seen == {
        Shows.BOTH: [(True, True)] * 4,
        Shows.ID_ONLY: [(False, True)] * 4,
        Shows.PHONE_LATER: [(False, True)] * 2 + [(True, True)] * 2,
        Shows.PHONE_UNTIL: [(True, True)] * 2 + [(False, True)] * 2,
        Shows.ID_LATER: [(True, False)] * 2 + [(True, True)] * 2,
        Shows.EITHER_UNTIL: [(True, False), (False, True), (True, True), (True, True)],
    }


def test_a_change_of_number_is_told_without_a_contact_under_the_old_names() -> None:
    somebody = person(BOLT, "bolt.9", "49159", "DE.9")
    element = moved_element(somebody, "wamid.m", "49160", "DE.10", BEGINNING, lambda: None)

    assert (element.value["from"], element.value["from_user_id"]) == ("49159", "DE.9")
    system = element.value["system"]
    assert isinstance(system, dict)
    assert (system["type"], system["wa_id"], system["user_id"]) == ("user_changed_number", "49160", "DE.10")
    assert b"contacts" not in delivery_of([element])
