"""What a handler asks for becomes Graph's own object, to the right recipient, and only while it may be sent."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from procession.core.errors import BadRequest
from procession.ports.connector import Shaped, Whom
from tests.unit.connectors.whatsapp.meta import CONNECTOR, NOW, PERSON, PHONE, channel

KNOWN = Whom(lane_key=PHONE, aliases=(PHONE, PERSON), heard_at=NOW - timedelta(hours=1), now=NOW)
HEAD = {"messaging_product": "whatsapp", "recipient_type": "individual", "to": f"+{PHONE}"}


def shaped(action: str | None, value: object, whom: Whom = KNOWN) -> Shaped:
    found = CONNECTOR.shape(channel(), whom, action, value)
    CONNECTOR.check_payload(found.action, json.dumps(found.value).encode())
    return found


def to(whom: Whom) -> dict[str, object]:
    value = shaped(None, "hi", whom).value
    assert isinstance(value, dict)
    return {name: said for name, said in value.items() if name in ("recipient_type", "to", "recipient")}


def test_a_reply_of_words_is_a_text() -> None:
    assert shaped(None, "hello") == Shaped(
        action="text", value={**HEAD, "type": "text", "text": {"body": "hello"}}, aliases=()
    )


def test_a_reply_may_be_an_action_with_its_value() -> None:
    found = shaped(None, {"image": {"link": "https://x.example/a.png"}})

    assert found.action == "image"
    assert found.value == {**HEAD, "type": "image", "image": {"link": "https://x.example/a.png"}}


@pytest.mark.parametrize("value", [7, None, [], {}, {"image": 1, "text": 2}, {"shout": "x"}])
def test_any_other_reply_is_refused_with_what_there_is(value: object) -> None:
    with pytest.raises(BadRequest, match="there are: text, template"):
        shaped(None, value)


def interactive(kind: str, action: object, **more: object) -> dict[str, object]:
    return {"type": "interactive", "interactive": {"type": kind, "body": {"text": "b"}, "action": action, **more}}


@pytest.mark.parametrize(
    ("action", "value", "expected"),
    [
        ("text", {"body": "b", "preview_url": True}, {"type": "text", "text": {"body": "b", "preview_url": True}}),
        ("image", "https://x.example/a", {"type": "image", "image": {"link": "https://x.example/a"}}),
        ("video", {"id": "1", "caption": "c"}, {"type": "video", "video": {"id": "1", "caption": "c"}}),
        ("audio", "77", {"type": "audio", "audio": {"id": "77"}}),
        ("sticker", {"id": "1"}, {"type": "sticker", "sticker": {"id": "1"}}),
        (
            "document",
            {"id": "1", "filename": "a.pdf"},
            {"type": "document", "document": {"id": "1", "filename": "a.pdf"}},
        ),
        (
            "template",
            {"name": "hello", "language": "en"},
            {"type": "template", "template": {"name": "hello", "language": {"code": "en"}}},
        ),
        (
            "template",
            {"name": "hello", "language": {"code": "de"}, "components": [{"type": "body"}]},
            {
                "type": "template",
                "template": {"name": "hello", "language": {"code": "de"}, "components": [{"type": "body"}]},
            },
        ),
        (
            "buttons",
            {"body": "b", "buttons": ["Yes", {"id": "n", "title": "No"}], "header": "h", "footer": "f"},
            interactive(
                "button",
                {
                    "buttons": [
                        {"type": "reply", "reply": {"id": "Yes", "title": "Yes"}},
                        {"type": "reply", "reply": {"id": "n", "title": "No"}},
                    ]
                },
                header={"type": "text", "text": "h"},
                footer={"text": "f"},
            ),
        ),
        (
            "list",
            {"body": "b", "button": "Choose", "rows": [{"id": "1", "title": "One"}]},
            interactive("list", {"button": "Choose", "sections": [{"rows": [{"id": "1", "title": "One"}]}]}),
        ),
        (
            "cta_url",
            {"body": "b", "text": "Pay", "url": "https://x.example"},
            interactive(
                "cta_url", {"name": "cta_url", "parameters": {"display_text": "Pay", "url": "https://x.example"}}
            ),
        ),
        (
            "reaction",
            {"message_id": "wamid.A", "emoji": "👍"},
            {"type": "reaction", "reaction": {"message_id": "wamid.A", "emoji": "👍"}},
        ),
        (
            "location",
            {"latitude": 52.5, "longitude": 13, "name": "n"},
            {"type": "location", "location": {"latitude": 52.5, "longitude": 13, "name": "n"}},
        ),
        (
            "contacts",
            [{"name": {"first_name": "Ann"}}],
            {"type": "contacts", "contacts": [{"name": {"first_name": "Ann"}}]},
        ),
        ("raw", {"type": "odd", "odd": {}}, {"type": "odd", "odd": {}}),
        ("raw", b'{"type": "odd", "odd": {}}', {"type": "odd", "odd": {}}),
    ],
)
def test_each_action_becomes_graphs_own_object(action: str, value: object, expected: dict[str, object]) -> None:
    found = shaped(action, value)

    assert found.action == action
    assert found.value == {**HEAD, **expected}


@pytest.mark.parametrize("action", ["text", "image", "buttons"])
def test_a_message_may_be_quoted(action: str) -> None:
    values: dict[str, dict[str, object]] = {
        "text": {"body": "b"},
        "image": {"id": "1"},
        "buttons": {"body": "b", "buttons": ["Yes"]},
    }

    found = shaped(action, {**values[action], "reply_to": "wamid.A"}).value

    assert isinstance(found, dict)
    assert found["context"] == {"message_id": "wamid.A"}


@pytest.mark.parametrize("value", ["wamid.A", {"message_id": "wamid.A"}])
def test_read_and_typing_name_a_message_and_nobody(value: object) -> None:
    mark = {"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.A"}

    assert shaped("read", value).value == mark
    assert shaped("typing", value).value == {**mark, "typing_indicator": {"type": "text"}}


@pytest.mark.parametrize("value", [None, "", {}, 7])
def test_read_and_typing_need_the_id_of_what_came_in(value: object) -> None:
    with pytest.raises(BadRequest, match=r"turn\.event\.provider_id"):
        shaped("typing", value)


@pytest.mark.parametrize(
    ("action", "value", "words"),
    [
        ("text", {}, "'text' needs 'body'"),
        ("text", {"body": "x", "preview": True}, "did you mean 'preview_url'"),
        ("text", 7, "takes a dict, not a int"),
        ("image", {}, "either 'link'"),
        ("image", {"id": "1", "link": "https://x.example"}, "either 'link'"),
        ("sticker", {"id": "1", "caption": "c"}, "has no 'caption'"),
        ("template", {"name": "x"}, "needs 'language'"),
        ("buttons", {"body": "b", "buttons": []}, "a list with something in it"),
        ("buttons", {"body": "b", "buttons": [7]}, "a button is a text"),
        ("buttons", {"body": "b", "buttons": [{"id": "1"}]}, "'a button' needs 'title'"),
        ("list", {"body": "b", "button": "c"}, "either 'rows', or 'sections'"),
        ("contacts", [], "a list with something in it"),
        ("raw", {"text": {}}, "a raw value is an object of Graph's"),
        ("raw", {"type": "text", "to": "+1"}, "it is filled in here"),
        ("raw", {"type": "text", "biz_opaque_callback_data": "x"}, "it is filled in here"),
        ("raw", b"\xff", "not JSON"),
    ],
)
def test_what_lacks_something_or_has_too_much_is_refused_in_words(action: str, value: object, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        shaped(action, value)


# --- to whom ---


def known(*aliases: str, lane_key: str = PHONE) -> Whom:
    return replace(KNOWN, aliases=aliases, lane_key=lane_key)


@pytest.mark.parametrize(
    ("aliases", "expected"),
    [
        (("4917099999999", PHONE, PERSON), {"recipient_type": "individual", "to": "+4917099999999"}),
        ((PERSON, PHONE), {"recipient_type": "individual", "to": f"+{PHONE}"}),
        (("DE.9", PERSON), {"recipient_type": "individual", "recipient": "DE.9"}),
        (("DE.ENT.5", PERSON), {"recipient_type": "individual", "recipient": PERSON}),
        (("group:abc",), {"recipient_type": "group", "to": "abc"}),
        ((), {"recipient_type": "individual", "to": f"+{PHONE}"}),
    ],
)
def test_the_newest_phone_number_is_written_to_else_the_newest_id(
    aliases: tuple[str, ...], expected: dict[str, object]
) -> None:
    assert to(known(*aliases)) == expected


@pytest.mark.parametrize(
    ("key", "name", "expected"),
    [
        ("+49 171 555-0100", "491715550100", {"recipient_type": "individual", "to": "+491715550100"}),
        ("+49 (0) 30/1234", "49301234", {"recipient_type": "individual", "to": "+49301234"}),
        (PERSON, PERSON, {"recipient_type": "individual", "recipient": PERSON}),
        ("group:abc", "group:abc", {"recipient_type": "group", "to": "abc"}),
    ],
)
def test_a_key_that_somebody_wrote_leads_to_the_lane_of_its_one_form(
    key: str, name: str, expected: dict[str, object]
) -> None:
    """Whether its window is open is the store's to see."""
    whom = Whom(lane_key=key, is_known=False, now=NOW)

    assert to(whom) == expected
    assert shaped(None, "hi", whom).aliases == (name,)


@pytest.mark.parametrize(
    "key", ["account", "bob", "", "12", "+", "group:", "1" * 40, "DE.\n", "0171 555010", "0049171555"]
)
def test_what_is_nobodys_key_is_refused(key: str) -> None:
    with pytest.raises(BadRequest, match=r"\+49171…"):
        shaped("template", {"name": "x", "language": "en"}, Whom(lane_key=key, is_known=False, now=NOW))


# --- the window ---


@pytest.mark.parametrize("heard_at", [None, NOW - timedelta(hours=24, seconds=1)])
@pytest.mark.parametrize("action", ["text", "image", "reaction", "raw"])
def test_outside_of_the_window_only_a_template_is_taken(heard_at: datetime | None, action: str) -> None:
    values = {
        "text": "hi",
        "image": {"id": "1"},
        "reaction": {"message_id": "wamid.A", "emoji": "👍"},
        "raw": {"type": "text", "text": {"body": "x"}},
    }
    whom = replace(KNOWN, heard_at=heard_at)

    with pytest.raises(BadRequest, match=r"turn\.template"):
        shaped(action, values[action], whom)
    shaped("template", {"name": "x", "language": "en"}, whom)
    shaped("raw", {"type": "template", "template": {}}, whom)
    shaped("raw", {"type": "text", "text": {"body": "x"}, "category": "utility"}, whom)
    shaped("read", "wamid.A", whom)


def test_the_refusal_says_since_when_it_is_closed() -> None:
    with pytest.raises(BadRequest, match="closed since 2030-01-06 21:00 UTC"):
        shaped(None, "hi", replace(KNOWN, heard_at=NOW - timedelta(hours=36)))


def test_to_the_second_it_is_open() -> None:
    assert shaped(None, "hi", replace(KNOWN, heard_at=NOW - timedelta(hours=24))).action == "text"


# --- the channel ---


def test_a_channel_without_account_or_token_says_what_to_write() -> None:
    with pytest.raises(BadRequest, match="account ="):
        CONNECTOR.shape(channel(account=""), KNOWN, None, "hi")
    with pytest.raises(BadRequest, match="token ="):
        CONNECTOR.shape(replace(channel(), secrets={}), KNOWN, None, "hi")
