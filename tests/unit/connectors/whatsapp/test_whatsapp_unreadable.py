"""Whatever a signed body holds, it is answered: what cannot be read is kept with its reason, and the rest counts."""

import json
from itertools import count

import pytest

from procession.connectors.whatsapp import names
from procession.connectors.whatsapp.names import rank as _rank
from procession.connectors.whatsapp.wrapper import AROUND_BYTES_MAX
from procession.core.limits import DEPTH_MAX, ELEMENTS_MAX
from tests.unit.connectors.whatsapp.meta import (
    NUMBER,
    OBJECT,
    PHONE,
    WABA,
    body,
    change,
    channel,
    entry,
    message,
    of_messages,
    parsed,
    status,
    value,
)

WRONG = [
    b"",
    b"null",
    b"[]",
    b"7",
    b'"text"',
    b"{}",
    b"\xff\xfe",
    b"\x00",
    b"\xef\xbb\xbf{}",
    '{"object":"whatsapp_business_account"}'.encode("utf-16"),
    b'{"object":"page","entry":[]}',
    b'{"object":"whatsapp_business_account"}',
    b'{"object":"whatsapp_business_account","entry":7}',
    b'{"object":"whatsapp_business_account","entry":{"a":1}}',
    b'{"entry":[{}]}',
    b'{"procession":1}',
    b'{"procession":{"field":"messages","part":"messages"}}',
    b'{"procession":{"field":1,"part":2}} ',
    b"[" * 100_000,
    b'{"a":' * (DEPTH_MAX + 1),
    b'{"object":"whatsapp_business_account","entry":[1e999999]}',
    b'{"object":"whatsapp_business_account","entry":["\\ud800"]}',
    b'{"object":"whatsapp_business_account","entry":[' + b"1" * 5000 + b"]}",
]


@pytest.mark.parametrize("raw", WRONG)
def test_a_body_of_another_kind_is_kept_whole(raw: bytes) -> None:
    found = parsed(raw)

    assert (found.arrivals, found.sightings) == ((), ())
    assert len(found.unreadable) == 1
    assert found.unreadable[0].reason


@pytest.mark.parametrize(
    "part",
    [
        None,
        7,
        "x",
        {},
        {"changes": None},
        {"changes": {}},
        {"id": WABA, "changes": [None]},
        {"id": WABA, "changes": [{}]},
        {"id": WABA, "changes": [{"field": 1, "value": {}}]},
        {"id": WABA, "changes": [{"field": "messages", "value": []}]},
        {"id": WABA, "changes": [{"field": "messages", "value": {}}]},
        {"id": WABA, "changes": [{"field": "messages", "value": {"messages": {}}}]},
        {"id": WABA, "changes": [{"field": "messages", "value": {"messages": [None]}}]},
        {"id": WABA, "changes": [{"field": "messages", "value": {"messages": [[]]}}]},
        {"id": {"a": [WABA]}, "changes": [{"field": "messages", "value": {"messages": [message()]}}]},
    ],
)
def test_a_broken_part_is_kept_by_itself_and_the_rest_is_read(part: object) -> None:
    raw = body(part, entry(change(value(messages=[message()]))))

    found = parsed(raw)

    assert [arrival.provider_id for arrival in found.arrivals] == ["wamid.A"]
    assert len(found.unreadable) == 1
    # What is kept is a body, which is found as wanting when it is read again, and not as empty.
    assert len(parsed(found.unreadable[0].body).unreadable) == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"id": 7},
        {"id": ""},
        {"id": "w" * 512},
        {"id": "a\nb"},
        {"id": ["wamid.A"]},
        {"from": None, "from_user_id": None},
        {"from": 4915, "from_user_id": 1},
        {"from": "x y", "from_user_id": "nobody"},
        {"from": "1" * 600, "from_user_id": "DE." + "1" * 600},
        {"group_id": 7},
        {"group_id": ""},
        {"group_id": "g" * 600},
        {"procession": {}},
    ],
)
def test_a_message_without_usable_names_is_kept(broken: dict[str, object]) -> None:
    found = parsed(of_messages({**message(), **broken}, contacts=()))

    assert (found.arrivals, len(found.unreadable)) == ((), 1)


# --- said twice ---


def doubled(raw: bytes, name: str, said: str) -> bytes:
    """The body with one more value of a name, before the last one: of two parsers each would take another."""
    once = json.dumps(name).encode() + b":"
    assert raw.count(once) == 1, raw
    return raw.replace(once, once + said.encode() + b"," + once)


def compact(raw: bytes) -> bytes:
    return json.dumps(json.loads(raw), separators=(",", ":")).encode()


@pytest.mark.parametrize("name", ["phone_number_id", "from", "from_user_id", "timestamp", "type", "wa_id", "metadata"])
def test_a_name_said_twice_where_it_routes_is_nobodys(name: str) -> None:
    raw = compact(of_messages(message()))

    found = parsed(doubled(raw, name, '"999"'), channel(), channel("bolt", "999"))

    assert (found.arrivals, len(found.unreadable)) == ((), 1)
    assert "twice" in found.unreadable[0].reason


@pytest.mark.parametrize("name", ["object", "entry", "changes", "field", "value", "messages", "contacts"])
def test_a_name_said_twice_in_the_wrapper_costs_nothing_of_either(name: str) -> None:
    raw = doubled(compact(of_messages(message())), name, "[]")

    found = parsed(raw)

    assert (found.arrivals, len(found.unreadable)) == ((), 1)
    assert b"wamid.A" in found.unreadable[0].body


def test_an_id_said_twice_also_when_it_is_escaped() -> None:
    raw = of_messages(message()).replace(b'"from_user_id"', b'"\\u0069d": "wamid.X", "from_user_id"')

    assert parsed(raw).arrivals == ()


def test_a_status_that_says_its_echo_twice_proves_nothing() -> None:
    raw = compact(body(entry(change(value(statuses=[status(biz_opaque_callback_data="ef_00")])))))

    found = parsed(doubled(raw, "biz_opaque_callback_data", '"ef_11"'))

    assert (found.sightings, len(found.unreadable)) == ((), 1)


def test_only_the_element_that_says_it_twice_is_kept_apart() -> None:
    raw = compact(of_messages(message(wamid="wamid.1"), message("image", "wamid.2", image={"id": "1"})))

    found = parsed(raw.replace(b'"type":"image"', b'"type":"x","type":"image"'))

    assert [arrival.provider_id for arrival in found.arrivals] == ["wamid.1"]
    assert b"wamid.2" in found.unreadable[0].body
    assert b"wamid.1" not in found.unreadable[0].body


def test_a_name_twice_deep_in_the_content_is_the_contents_own() -> None:
    raw = compact(of_messages(message())).replace(b'"body":"hello"', b'"body":"x","body":"hello"')

    (found,) = parsed(raw).arrivals

    assert found.text == "hello"


@pytest.mark.parametrize("broken", [None, 7, "text", {"a": 1}])
def test_a_part_that_is_no_list_is_kept_without_what_stands_beside_it(broken: object) -> None:
    raw = body(entry(change(value(messages=broken, statuses=[status()], errors=[{"code": 1}]))))

    found = parsed(raw)
    again = parsed(found.unreadable[0].body)

    assert (len(found.arrivals), len(found.sightings), len(found.unreadable)) == (1, 1, 1)
    # Read again, it is no second event and no second sighting.
    assert (again.arrivals, again.sightings, len(again.unreadable)) == ((), (), 1)


# --- bounds ---


def test_more_elements_than_a_delivery_may_have_are_kept_as_one() -> None:
    parts = b",".join([b"{}"] * (ELEMENTS_MAX + 1))
    head = f'{{"object":"{OBJECT}","entry":[{{"id":"1","changes":[{{"field":"messages","value":{{"messages":['
    raw = head.encode() + parts + b"]}}]}]}"

    found = parsed(raw)

    assert [part.body for part in found.unreadable] == [raw]


def test_a_thousand_persons_are_told_apart_without_comparing_all_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read on the loop that answers everybody, and ten thousand of both once took a minute and a half."""
    persons = [f"4915{number:09d}" for number in range(1000)]
    looks = count()
    monkeypatch.setattr(names, "rank", lambda name: next(looks) * 0 + _rank(name))

    found = parsed(
        of_messages(
            *({**message(wamid=f"wamid.{person}"), "from": person, "from_user_id": None} for person in persons),
            contacts=tuple({"wa_id": person, "user_id": f"DE.{person}"} for person in reversed(persons)),
        )
    ).arrivals

    assert [arrival.aliases for arrival in found] == [(person, f"DE.{person}") for person in persons]
    assert next(looks) < 20 * len(persons)


def test_of_many_contacts_of_one_name_only_a_few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count()
    monkeypatch.setattr(names, "rank", lambda name: next(looks) * 0 + _rank(name))
    others = tuple({"wa_id": PHONE, "user_id": f"DE.{number}"} for number in range(1000))

    found = parsed(of_messages(*(message(wamid=f"wamid.{n}") for n in range(100)), contacts=others)).arrivals

    assert len(found) == 100
    assert next(looks) < 100 * 100


LONG = "x" * AROUND_BYTES_MAX


@pytest.mark.parametrize(
    "part",
    [
        entry(change(value(messages=[message()] * 100, metadata={"phone_number_id": NUMBER, "pad": LONG}))),
        entry(change(value(messages=[message()] * 100)), waba=LONG),
        entry(change(value(messages=[message()] * 100)), time=LONG),
        entry(change(value(messages=[message()] * 100), field=LONG)),
    ],
)
def test_what_stands_around_a_hundred_elements_is_not_kept_a_hundred_times(part: dict[str, object]) -> None:
    raw = body(part, entry(change(value(messages=[message()]))))

    found = parsed(raw)

    # Unbounded, three megabytes would become gigabytes in the store. And the other entry is read.
    assert sum(len(each.body) for each in found.unreadable) < len(raw)
    assert [arrival.provider_id for arrival in found.arrivals] == ["wamid.A"]


@pytest.mark.parametrize("length", [255, 256, 257, 500, 1000])
def test_a_field_of_strange_characters_reads_again_as_it_did(length: int) -> None:
    """Escaped, each takes twelve bytes: what was short enough once must be so when it is read again."""
    raw = json.dumps(
        {"object": OBJECT, "entry": [entry(change({"event": "x"}, "\U0001f600" * length))]}, ensure_ascii=False
    ).encode()

    found = parsed(raw, channel(waba=WABA))
    again = parsed(found.arrivals[0].payload if found.arrivals else found.unreadable[0].body, channel(waba=WABA))

    assert len(found.arrivals) == (1 if length <= 256 else 0)
    assert (again.arrivals, len(again.unreadable)) == (found.arrivals, len(found.unreadable))


def test_a_contact_that_is_too_long_is_not_kept_beside_each_message() -> None:
    named = {"wa_id": PHONE, "user_id": "DE.5", "profile": {"name": LONG}}

    found = parsed(of_messages(*(message(wamid=f"wamid.{n}") for n in range(9)), contacts=(named,)))

    assert len(found.arrivals) == 9
    assert all(LONG.encode() not in arrival.payload for arrival in found.arrivals)


def test_a_chunk_of_a_history_that_says_too_much_of_itself_is_one_event() -> None:
    chunk = {"metadata": {"pad": LONG}, "threads": [{"id": PHONE, "messages": []}] * 50}

    found = parsed(body(entry(change(value(history=[chunk]), "history"))))

    assert [arrival.kind for arrival in found.arrivals] == ["whatsapp.history"]


def test_what_is_kept_of_one_names_no_other() -> None:
    """Two persons of one body: what is kept of the one must not hold the other's."""
    other = {**message(wamid="wamid.2", text={"body": "secret"}), "from": "4917600000001", "from_user_id": "DE.2"}
    contacts = ({"wa_id": PHONE, "profile": {"name": "Ann"}}, {"wa_id": "4917600000001", "profile": {"name": "Bob"}})

    first, second = parsed(of_messages(message(), other, contacts=contacts), channel(account="1" + NUMBER)).unreadable

    assert b"Bob" not in first.body
    assert b"secret" not in first.body
    assert b"Ann" not in second.body
