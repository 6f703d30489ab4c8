"""I1: raw bytes and headers only, compared in constant time, and it fails closed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import pytest

from tests.conformance.connectors.harness import Harness
from tests.conformance.connectors.suite import shows

Headers = tuple[tuple[str, str], ...]
BODIES: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "one blank more": lambda body: body + b" ",
    "one byte less": lambda body: body[:-1],
    "no body": lambda body: body[:0],
    "serialised again": lambda body: json.dumps(json.loads(body), indent=1).encode(),
}
HEADERS: Final[Mapping[str, Callable[[Headers], Headers]]] = {
    "none": lambda headers: tuple((name, said) for name, said in headers if name == "content-type"),
    "each twice": lambda headers: (*headers, *headers),
    "each empty": lambda headers: tuple((name, "") for name, _ in headers),
    "each cut": lambda headers: tuple((name, said[:-2]) for name, said in headers),
    "each longer": lambda headers: tuple((name, f"{said}00") for name, said in headers),
    "not ascii": lambda headers: tuple((name, f"{said}\xe9") for name, said in headers),
    "in capitals": lambda headers: tuple((name, f"X{said.upper()}") for name, said in headers),
}


@shows("I1")
def test_a_signature_is_good_under_any_of_the_secrets_and_says_why_it_is_not(harness: Harness) -> None:
    delivery = harness.signed(harness.event())
    verify = harness.connector.verify

    assert verify(harness.endpoint, (harness.secret,), delivery) is None
    assert verify(harness.endpoint, (harness.other_secret, harness.secret), delivery) is None
    why = verify(harness.endpoint, (harness.other_secret,), delivery)
    assert why
    assert harness.other_secret.decode() not in why


@shows("I1")
@pytest.mark.parametrize("change", BODIES)
def test_a_changed_body_is_refused(harness: Harness, change: str) -> None:
    delivery = harness.signed(harness.event())

    changed = replace(delivery, body=BODIES[change](delivery.body))

    assert harness.connector.verify(harness.endpoint, (harness.secret,), changed) is not None


@shows("I1")
@pytest.mark.parametrize("change", HEADERS)
def test_a_changed_header_is_refused(harness: Harness, change: str) -> None:
    delivery = harness.signed(harness.event())

    changed = replace(delivery, headers=HEADERS[change](delivery.headers))

    assert harness.connector.verify(harness.endpoint, (harness.secret,), changed) is not None


@shows("I1")
@pytest.mark.parametrize("secret", [b"", b"short", b"x" * 23])
def test_an_empty_or_short_secret_makes_nothing_good(harness: Harness, secret: bytes) -> None:
    """An empty key works in an HMAC, and everybody knows it."""
    delivery = harness.sign(harness.word(harness.event()), secret)

    assert harness.connector.verify(harness.endpoint, (secret,), delivery) is not None
    assert harness.connector.verify(harness.endpoint, (), delivery) is not None


@shows("I1")
def test_a_handshake_without_a_token_is_never_agreed_to(harness: Harness) -> None:
    query = "hub.mode=subscribe&hub.challenge=1&hub.verify_token="
    asked = replace(harness.signed(harness.event()), method="GET", query=query, body=b"")

    for tokens in ({}, {"verify_token": b""}):
        answer = harness.connector.handshake(harness.endpoint, tokens, asked)
        assert answer is None or answer.status >= 400
