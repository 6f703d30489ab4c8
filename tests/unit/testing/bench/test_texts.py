"""The texts of the bench are WhatsApp's, and a reply tells how long it took."""

import hashlib
import hmac
import json

from procession.testing.bench.texts import NUMBERS, PEOPLE, WARM, sent_at, text_request
from procession.testing.whatsapp.line import SECRET


def test_a_text_is_signed_whole_and_carries_the_moment_of_its_sending() -> None:
    head, _, body = text_request("a1", lane=7, kind="text", sent=12.5).partition(b"\r\n\r\n")

    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert f"X-Hub-Signature-256: sha256={digest}" in head.decode()
    assert f"Content-Length: {len(body)}\r\n" in head.decode()
    value = json.loads(body)["entry"][0]["changes"][0]["value"]
    assert value["metadata"]["phone_number_id"] == NUMBERS[7].id
    (text,) = value["messages"]
    assert text["id"] == "wamid.a1"
    assert sent_at(text["text"]["body"]) == 12.5


def test_what_warms_the_engine_is_not_measured() -> None:
    body = text_request("a1", lane=7, kind=WARM, sent=12.5).partition(b"\r\n\r\n")[2]

    said = json.loads(body)["entry"][0]["changes"][0]["value"]["messages"][0]["text"]["body"]
    assert sent_at(said) is None


def test_lanes_are_people_and_all_of_them_write() -> None:
    phones = {
        json.loads(text_request("a", lane=lane, kind=WARM).partition(b"\r\n\r\n")[2])["entry"][0]["changes"][0][
            "value"
        ]["messages"][0]["from"]
        for lane in range(len(PEOPLE))
    }

    assert phones == {person.phone for person in PEOPLE}
