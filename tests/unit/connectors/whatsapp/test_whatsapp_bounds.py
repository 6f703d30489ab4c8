"""What WhatsApp would refuse for its size is refused where it is asked for."""

import json

import pytest

from procession.core.errors import BadRequest
from procession.core.limits import EFFECT_BYTES_MAX
from procession.ports.connector import Whom
from tests.unit.connectors.whatsapp.meta import CONNECTOR, NOW, PHONE, channel

WHOM = Whom(lane_key=PHONE, aliases=(PHONE,), heard_at=NOW, now=NOW)


def ask(action: str | None, value: object) -> None:
    found = CONNECTOR.shape(channel(), WHOM, action, value)
    CONNECTOR.check_payload(found.action, json.dumps(found.value).encode())


def options(*rows: dict[str, str], **more: object) -> dict[str, object]:
    return {"body": "b", "button": "c", "rows": list(rows), **more}


def row(**more: str) -> dict[str, str]:
    return {"id": "1", "title": "t", **more}


FITS: list[tuple[str, object]] = [
    ("text", "x" * 4096),
    ("image", {"id": "1", "caption": "x" * 1024}),
    ("buttons", {"body": "x" * 1024, "buttons": [{"id": "i" * 256, "title": "t" * 20}, "b", "c"]}),
    ("list", options(*(row(id=f"{n}".rjust(200), title="t" * 24, description="d" * 72) for n in range(10)))),
    ("location", {"latitude": -90, "longitude": 180}),
    ("reaction", {"message_id": "wamid.A", "emoji": ""}),
]
TOO_MUCH: list[tuple[str, object, str]] = [
    ("text", "x" * 4097, "split_text"),
    ("text", " ", "something in it"),
    ("image", {"id": "1", "caption": "x" * 1025}, "1,025 characters"),
    ("buttons", {"body": "x" * 1025, "buttons": ["a"]}, "at most 1,024"),
    ("buttons", {"body": "b", "buttons": ["a", "b", "c", "d"]}, "4 buttons"),
    ("buttons", {"body": "b", "buttons": [{"id": "i" * 257, "title": "t"}]}, "button's id"),
    ("buttons", {"body": "b", "buttons": [{"id": "i", "title": "t" * 21}]}, "button's title"),
    ("buttons", {"body": "b", "buttons": ["a", "a"]}, "same button id"),
    ("buttons", {"body": "b", "buttons": ["a"], "header": "h" * 61}, "header"),
    ("buttons", {"body": "b", "buttons": ["a"], "footer": "h" * 61}, "footer"),
    ("list", options(*(row(id=str(n)) for n in range(11))), "11 rows"),
    ("list", options(row(id="i" * 201)), "row's id"),
    ("list", options(row(title="t" * 25)), "row's title"),
    ("list", options(row(description="d" * 73)), "row's description"),
    ("list", options(row(), row()), "same row id"),
    ("list", {"body": "b", "button": "c" * 21, "rows": [row()]}, "action.button"),
    ("list", {"body": "b", "button": "c", "sections": [{"title": "s" * 25, "rows": [row()]}]}, "section's title"),
    ("list", {"body": "b", "button": "c", "sections": [{"rows": [row()]}, {"rows": [row(id="2")]}]}, "section's title"),
    ("list", {"body": "b", "button": "c", "sections": [{"title": "s"}]}, "no rows"),
    ("cta_url", {"body": "b", "text": "t" * 21, "url": "https://x.example"}, "display_text"),
    ("location", {"latitude": 91, "longitude": 0}, "latitude"),
    ("location", {"latitude": 0, "longitude": "13"}, "longitude"),
    ("reaction", {"message_id": "wamid.A", "emoji": 7}, "emoji"),
    ("reaction", {"message_id": "", "emoji": "x"}, "message_id"),
    ("typing", "w" * 513, "message_id"),
]


@pytest.mark.parametrize(("action", "value"), FITS)
def test_what_just_fits_is_taken(action: str, value: object) -> None:
    ask(action, value)

    assert action in CONNECTOR.actions()


@pytest.mark.parametrize(("action", "value", "words"), TOO_MUCH)
def test_what_is_too_much_is_refused_in_words(action: str, value: object, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        ask(action, value)


HEAD = {"messaging_product": "whatsapp", "to": "+49"}


@pytest.mark.parametrize(
    ("action", "payload", "words"),
    [
        ("shout", b"{}", "no action 'shout'"),
        ("text", b"", "no JSON object"),
        ("text", b"[]", "no JSON object"),
        ("text", b"{}", "messaging_product"),
        ("text", json.dumps({**HEAD, "to": None}).encode(), "goes to nobody"),
        ("text", json.dumps({**HEAD, "biz_opaque_callback_data": "x"}).encode(), "the effect's own id"),
        ("text", json.dumps({**HEAD, "x": "x" * EFFECT_BYTES_MAX}).encode(), "can be sent"),
        ("read", json.dumps(HEAD).encode(), "message_id"),
    ],
)
def test_a_payload_that_was_not_shaped_here_is_looked_at_all_the_same(action: str, payload: bytes, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        CONNECTOR.check_payload(action, payload)
