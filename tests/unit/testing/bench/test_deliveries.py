"""What the load sends is what a platform sends: signed, spread over tenants, and now and then once more."""

import hmac
import json
from collections import Counter

from procession.testing.bench.deliveries import LANES, REDELIVERED_EACH, SECRET, TENANTS, request, some


def body_of(whole: bytes) -> bytes:
    return whole.partition(b"\r\n\r\n")[2]


def test_a_delivery_is_signed_over_its_body_and_about_a_kilobyte_long() -> None:
    whole = request("e1", lane=3, kind="quiet")
    body = body_of(whole)

    assert 900 < len(body) < 1_200
    assert b"x-signature-256: sha256=" + hmac.digest(SECRET, body, "sha256").hex().encode() in whole.lower()


def test_lanes_are_spread_evenly_over_the_tenants() -> None:
    documents = [json.loads(body_of(whole)) for whole in some(LANES, "a", "quiet", redelivered=False)]

    assert set(Counter(document["account"] for document in documents).values()) == {LANES // TENANTS}
    assert len({document["who"] for document in documents}) == LANES


def test_each_tenth_delivery_was_there_before_once_there_is_enough_to_repeat() -> None:
    made = some(10_000, "a", "quiet")
    repeats = len(made) - len(set(made))

    assert 0.9 * len(made) / REDELIVERED_EACH < repeats <= len(made) / REDELIVERED_EACH


def test_a_load_without_redelivery_repeats_nothing() -> None:
    made = some(3_000, "a", "quiet", redelivered=False)

    assert len(set(made)) == len(made)
