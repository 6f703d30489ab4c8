"""What a person's message becomes: its kind, its id, its lane, and the names that lead there."""

import json
from datetime import timedelta

import pytest

from procession.core.event import Order, Ordering
from procession.ports.connector import Arrival
from tests.unit.connectors.whatsapp.meta import (
    NOW,
    PERSON,
    PHONE,
    SENT_AT,
    body,
    change,
    channel,
    contact,
    entry,
    message,
    of_messages,
    parsed,
    value,
)

PARENT = "DE.ENT.11815799212886844830"


def only(raw: bytes) -> Arrival:
    found = parsed(raw)
    assert found.unreadable == ()
    (arrival,) = found.arrivals
    return arrival


def of(fields: dict[str, object], *contacts: dict[str, object]) -> Arrival:
    return only(of_messages(fields, contacts=contacts))


def without(fields: dict[str, object], *names: str) -> dict[str, object]:
    return {name: said for name, said in fields.items() if name not in names}


def with_content(kind: str, content: dict[str, object]) -> dict[str, object]:
    return {**without(message(kind), "text"), **content}


def test_a_text_becomes_an_event_of_its_persons_lane() -> None:
    found = only(of_messages(message()))

    assert (found.tenant, found.channel) == ("acme", "main")
    assert (found.kind, found.provider_id, found.lane_key) == ("whatsapp.text", "wamid.A", PHONE)
    assert found.aliases == (PHONE, PERSON)
    assert (found.text, found.occurred_at, found.hears) == ("hello", SENT_AT, True)
    assert (found.retires, found.pause, found.order) == ((), None, None)


def test_its_payload_is_its_own_bytes_with_what_stood_around_it() -> None:
    raw = of_messages(message()).replace(b'"hello"', b'"h\\u00e9llo \\ud83d\\ude00"  ')

    payload = only(raw).payload

    own, _, _ = payload.partition(b',"procession"')
    assert own + b"}" in raw
    read = json.loads(payload)
    assert read["text"]["body"] == "h\u00e9llo \U0001f600"
    around = read["procession"]
    assert around["contact"] == contact()
    assert around["metadata"]["phone_number_id"] == value()["metadata"]["phone_number_id"]  # type: ignore[index]  # JSON
    assert (around["field"], around["waba"]) == ("messages", "102290129340398")


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("image", {"image": {"id": "1", "caption": "look"}}, "image"),
        ("video", {"video": {"id": "1"}}, "video"),
        ("audio", {"audio": {"id": "1", "voice": True}}, "audio"),
        ("document", {"document": {"id": "1"}}, "document"),
        ("sticker", {"sticker": {"id": "1"}}, "sticker"),
        ("location", {"location": {"latitude": 1, "longitude": 2}}, "location"),
        ("contacts", {"contacts": [{"phones": []}]}, "contacts"),
        ("button", {"button": {"payload": "p", "text": "Yes"}}, "button"),
        ("interactive", {"interactive": {"type": "button_reply", "button_reply": {"id": "1"}}}, "button_reply"),
        ("interactive", {"interactive": {"type": "list_reply", "list_reply": {"id": "1"}}}, "list_reply"),
        ("interactive", {"interactive": {"type": "nfm_reply", "nfm_reply": {}}}, "flow_reply"),
        ("interactive", {"interactive": {"type": "something_new"}}, "other"),
        ("interactive", {"interactive": None}, "other"),
        ("order", {"order": {"catalog_id": "1"}}, "order"),
        ("reaction", {"reaction": {"message_id": "wamid.B", "emoji": "👍"}}, "reaction"),
        ("unsupported", {"errors": [{"code": 131051}]}, "unsupported"),
        ("edit", {"edit": {"original_message_id": "wamid.B"}}, "edit"),
        ("revoke", {"revoke": {"original_message_id": "wamid.B"}}, "revoke"),
        ("something_new", {"something_new": {}}, "other"),
    ],
)
def test_each_type_has_its_kind_and_all_that_a_person_sends_is_heard(
    kind: str, content: dict[str, object], expected: str
) -> None:
    found = of(with_content(kind, content))

    assert found.kind == f"whatsapp.{expected}"
    assert found.hears
    assert found.lane_key == PHONE


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"text": {"body": "a"}}, "a"),
        ({"button": {"text": "b"}}, "b"),
        ({"interactive": {"type": "list_reply", "list_reply": {"title": "c"}}}, "c"),
        ({"interactive": {"type": "button_reply", "button_reply": {"title": "d"}}}, "d"),
        ({"document": {"caption": "e"}}, "e"),
        ({"location": {"name": "f"}}, None),
    ],
)
def test_what_a_person_wrote_is_found(content: dict[str, object], text: str | None) -> None:
    assert of(with_content("any", content)).text == text


# --- names ---


def test_without_a_phone_number_the_business_scoped_id_is_the_lane() -> None:
    found = of(without(message(), "from"), contact(phone=None))

    assert (found.lane_key, found.aliases) == (PERSON, (PERSON,))


def test_a_contact_adds_the_names_that_the_message_does_not_say() -> None:
    found = of(without(message(), "from"), {**contact(), "parent_user_id": PARENT})

    assert (found.lane_key, found.aliases) == (PHONE, (PHONE, PERSON, PARENT))


def test_of_several_contacts_the_fitting_one_is_taken_and_not_the_one_at_its_place() -> None:
    other = contact("4917600000001", "DE.2", "Bob")
    first = without(message(wamid="wamid.1"), "from_user_id")
    second = {**message(wamid="wamid.2"), "from": "4917600000001", "from_user_id": "DE.2"}

    found = parsed(of_messages(first, second, contacts=(other, contact()))).arrivals

    assert [arrival.aliases for arrival in found] == [(PHONE, PERSON), ("4917600000001", "DE.2")]
    assert [json.loads(arrival.payload)["procession"]["contact"]["profile"]["name"] for arrival in found] == [
        "Ann",
        "Bob",
    ]


def test_a_contact_that_contradicts_the_message_is_another_persons() -> None:
    found = of(message(), contact(person="DE.9"))

    assert found.aliases == (PHONE, PERSON)
    assert "contact" not in json.loads(found.payload)["procession"]


def test_a_message_that_names_nobody_takes_the_only_contact_and_only_when_it_is_alone() -> None:
    nameless = without(message(), "from", "from_user_id")

    assert of(nameless, contact()).lane_key == PHONE
    both = parsed(of_messages(nameless, nameless, contacts=(contact(),)))
    assert both.arrivals == ()
    assert [part.reason for part in both.unreadable] == ["a message does not say from whom it is"] * 2


def test_a_scoped_id_in_the_field_of_the_phone_number_is_still_a_scoped_id() -> None:
    """Some have announced that `from` would hold it."""
    assert of({**message(), "from": PERSON}, contact(phone=PERSON)).aliases == (PERSON,)


def test_in_a_group_the_group_is_the_subject() -> None:
    found = of({**message(), "group_id": "Y2FwaV9ncm91cA=="}, contact())

    assert (found.lane_key, found.aliases) == ("group:Y2FwaV9ncm91cA==", ("group:Y2FwaV9ncm91cA==",))
    # Any member opens the window of the whole group.
    assert found.hears


# --- changes of a number ---


def system(kind: str, **said: str) -> dict[str, object]:
    return message("system", system={"type": kind, "body": "…", **said})


def test_a_new_phone_number_leads_to_the_same_lane_and_the_old_one_retires() -> None:
    found = of(system("user_changed_number", wa_id="4917099999999", user_id="DE.77"))

    assert found.kind == "whatsapp.system"
    assert found.lane_key == "4917099999999"
    assert found.aliases == ("4917099999999", "DE.77", PHONE, PERSON)
    assert found.retires == (PHONE, PERSON)
    assert not found.hears


def test_a_new_scoped_id_leaves_the_phone_number() -> None:
    found = of(system("user_changed_user_id", user_id="DE.77"))

    assert found.aliases == (PHONE, "DE.77", PERSON)
    assert found.retires == (PERSON,)


def test_another_system_message_changes_no_names() -> None:
    found = of(system("customer_identity_changed", wa_id="4917099999999"))

    assert (found.aliases, found.retires) == ((PHONE, PERSON), ())


# --- ids and times ---


def test_a_redelivery_has_the_same_id_however_it_is_batched() -> None:
    alone = only(of_messages(message()))
    batched = parsed(of_messages(message(wamid="wamid.B"), message(), contacts=(contact(),))).arrivals[1]

    assert batched.provider_id == alone.provider_id


def test_what_has_no_id_gets_one_of_all_that_came() -> None:
    nameless, other = without(message(), "id"), without(message(text={"body": "bye"}), "id")

    first, again, third = (only(of_messages(each)) for each in (nameless, nameless, other))

    assert first.provider_id.startswith("message:")
    assert first.provider_id == again.provider_id != third.provider_id


@pytest.mark.parametrize("stamp", ["soon", "", "-1", "0", "1e99", 12, None, [], "99999999999", "9" * 5000, "nan"])
def test_a_timestamp_that_makes_no_sense_is_none(stamp: object) -> None:
    assert of({**message(), "timestamp": stamp}).occurred_at is None


def test_with_a_window_late_ones_are_sorted_in_by_their_time() -> None:
    (found,) = parsed(of_messages(message()), channel(reorder_window=2)).arrivals

    microseconds = int(SENT_AT.timestamp()) * 1_000_000
    assert found.order == Order(by=Ordering.TIME, key=microseconds, window=timedelta(seconds=2))


def test_a_time_far_ahead_orders_nothing_since_all_others_would_be_late() -> None:
    ahead = str(int((NOW + timedelta(days=1)).timestamp()))

    (found,) = parsed(of_messages({**message(), "timestamp": ahead}), channel(reorder_window=2)).arrivals

    assert (found.order, found.occurred_at) == (None, None)


def test_messages_of_many_entries_keep_their_order() -> None:
    entries = [entry(change(value(messages=[message(wamid=f"wamid.{n}")]))) for n in range(5)]

    assert [found.provider_id for found in parsed(body(*entries)).arrivals] == [f"wamid.{n}" for n in range(5)]
