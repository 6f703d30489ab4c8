"""Meta's signature over the raw bytes, and the handshake by which it asks whether the URL is ours."""

import hmac

import pytest

from procession.ports.connector import Answer
from tests.unit.connectors.whatsapp.meta import (
    CONNECTOR,
    ENDPOINT,
    SECRET,
    delivery,
    handshake,
    message,
    of_messages,
    signed,
)

BODY = of_messages(message())
OTHER = b"another app secret, 32 bytes long"
TOKENS = {"verify_token": b"a token that somebody has typed"}
GOOD = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=a+token+that+somebody+has+typed"


def test_a_body_is_good_under_any_of_the_app_secrets() -> None:
    assert CONNECTOR.verify(ENDPOINT, (OTHER, SECRET), signed(BODY)) is None
    assert CONNECTOR.verify(ENDPOINT, (SECRET,), signed(BODY)) is None


@pytest.mark.parametrize(
    "said",
    [
        "sha256=",
        "sha1=" + hmac.digest(SECRET, BODY, "sha1").hex(),
        hmac.digest(SECRET, BODY, "sha256").hex(),
        "sha256=" + hmac.digest(OTHER, BODY, "sha256").hex(),
        "sha256=" + hmac.digest(b"", BODY, "sha256").hex(),
        "sha256=" + hmac.digest(SECRET, BODY, "sha256").hex().upper(),
        "SHA256=" + hmac.digest(SECRET, BODY, "sha256").hex(),
        "sha256=\xe9",
    ],
)
def test_any_other_signature_is_refused(said: str) -> None:
    assert CONNECTOR.verify(ENDPOINT, (SECRET,), delivery(BODY, x_hub_signature_256=said)) is not None


def test_without_header_or_secret_nothing_is_good() -> None:
    assert CONNECTOR.verify(ENDPOINT, (SECRET,), delivery(BODY)) is not None
    assert CONNECTOR.verify(ENDPOINT, (), signed(BODY)) is not None
    assert CONNECTOR.verify(ENDPOINT, (b"short",), signed(BODY, b"short")) is not None


def test_the_challenge_goes_back_as_plain_text() -> None:
    assert CONNECTOR.handshake(ENDPOINT, TOKENS, handshake(GOOD)) == Answer(status=200, body=b"1158201444")


@pytest.mark.parametrize(
    "query",
    [
        GOOD.replace("typed", "guessed"),
        GOOD.replace("1158201444", "%3Cscript%3E"),
        GOOD.replace("1158201444", ""),
        GOOD.replace("1158201444", "1" * 129),
        GOOD.replace("1158201444", "1%0A"),
        GOOD.replace("1158201444", "%D9%A3"),
        GOOD + "&hub.verify_token=other",
        GOOD + "&hub.challenge=2",
        "hub.mode=subscribe",
        "hub.mode=subscribe&hub.challenge=1&hub.verify_token=%FF",
    ],
)
def test_a_handshake_with_a_wrong_token_or_challenge_is_forbidden(query: str) -> None:
    assert CONNECTOR.handshake(ENDPOINT, TOKENS, handshake(query)) == Answer(status=403)


@pytest.mark.parametrize("tokens", [{}, {"verify_token": b""}, {"other": b"a token that somebody has typed"}])
def test_an_endpoint_without_a_token_shakes_no_hands(tokens: dict[str, bytes]) -> None:
    assert CONNECTOR.handshake(ENDPOINT, tokens, handshake(GOOD)) == Answer(status=403)
    assert CONNECTOR.handshake(
        ENDPOINT, tokens, handshake("hub.mode=subscribe&hub.challenge=1&hub.verify_token=")
    ) == Answer(status=403)


@pytest.mark.parametrize("query", ["", "x=1", "hub.mode=unsubscribe", "&".join(f"a{n}=1" for n in range(99))])
def test_what_is_no_handshake_has_no_answer(query: str) -> None:
    assert CONNECTOR.handshake(ENDPOINT, TOKENS, handshake(query)) is None
