"""Signatures: over raw bytes, under any of several secrets, in constant time, and fail closed."""

from datetime import timedelta

import pytest

from procession.app.system import SystemClock
from procession.connectors.plain import PlainConnector
from procession.connectors.standard import StandardConnector
from procession.ports.connector import Delivery
from tests.unit.connectors.deliveries import (
    NOW,
    OTHER_SECRET,
    SECRET,
    delivery,
    endpoint,
    signed,
    signed_standard,
)

BODY = b'{"id": "1", "lane": "a", "kind": "k"}'
PLAIN = PlainConnector(SystemClock())
STANDARD = StandardConnector(SystemClock())
GOOD = signed(BODY).header("x-signature-256") or ""


def test_a_delivery_signed_with_any_current_secret_is_good() -> None:
    for secret in (SECRET, OTHER_SECRET):
        assert PLAIN.verify(endpoint(), (OTHER_SECRET, SECRET), signed(BODY, secret)) is None


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(delivery(BODY), id="unsigned"),
        pytest.param(signed(BODY, b"a wrong secret of enough bytes .."), id="wrong secret"),
        pytest.param(delivery(BODY, x_signature_256="sha256="), id="empty digest"),
        pytest.param(delivery(BODY, x_signature_256=GOOD[:-2]), id="cut digest"),
        pytest.param(delivery(BODY, x_signature_256=GOOD.removeprefix("sha256=")), id="no prefix"),
        pytest.param(delivery(BODY, x_signature_256=GOOD.replace("sha256", "sha1")), id="other algorithm"),
        pytest.param(delivery(BODY, x_signature_256="sha256=é" + GOOD[9:]), id="not ASCII"),
        pytest.param(delivery(BODY, x_signature_256=f"sha256= {GOOD[7:]}"), id="blank within"),
        pytest.param(delivery(BODY + b" ", x_signature_256=GOOD), id="one byte more"),
        pytest.param(delivery(b'{"id":"1","lane":"a","kind":"k"}', x_signature_256=GOOD), id="serialised anew"),
    ],
)
def test_whatever_is_not_signed_exactly_so_is_refused(refused: Delivery) -> None:
    assert PLAIN.verify(endpoint(), (SECRET,), refused) is not None


def test_a_doubled_signature_header_is_refused() -> None:
    once = signed(BODY)
    twice = Delivery(
        method="POST",
        path=once.path,
        query="",
        headers=(*once.headers, ("x-signature-256", GOOD)),
        body=BODY,
        received_at=NOW,
    )

    assert PLAIN.verify(endpoint(), (SECRET,), twice) is not None


@pytest.mark.parametrize("secrets", [(), (b"",), (b"short",)])
def test_without_a_usable_secret_everything_is_refused(secrets: tuple[bytes, ...]) -> None:
    with_it = signed(BODY, secrets[0]) if secrets else signed(BODY)

    assert PLAIN.verify(endpoint(), secrets, with_it) == "the endpoint has no usable signing secret"


def test_upper_case_hex_is_the_same_digest() -> None:
    assert PLAIN.verify(endpoint(), (SECRET,), delivery(BODY, x_signature_256=f"sha256={GOOD[7:].upper()}")) is None


def test_the_scheme_is_what_the_endpoint_says() -> None:
    import base64
    import hmac

    digest = base64.b64encode(hmac.digest(SECRET, BODY, "sha512")).decode()
    settings = {
        "signature_header": "X-Shop-Hmac",
        "signature_prefix": "",
        "signature_encoding": "base64",
        "signature_algorithm": "sha512",
    }

    assert PLAIN.verify(endpoint(**settings), (SECRET,), delivery(BODY, x_shop_hmac=digest)) is None


def test_a_standard_delivery_is_good_under_any_secret_of_a_rotation() -> None:
    assert STANDARD.verify(endpoint("standard"), (OTHER_SECRET, SECRET), signed_standard(BODY)) is None


def test_a_standard_signature_covers_id_and_timestamp() -> None:
    good = signed_standard(BODY)
    for name, other in (("webhook-id", "msg_2"), ("webhook-timestamp", str(int(NOW.timestamp()) + 1))):
        headers = tuple((key, other if key == name else value) for key, value in good.headers)
        changed = Delivery(method="POST", path="", query="", headers=headers, body=BODY, received_at=NOW)

        assert STANDARD.verify(endpoint("standard"), (SECRET,), changed) == "no signature fits the body"


@pytest.mark.parametrize("off", [timedelta(minutes=6), -timedelta(minutes=6)])
def test_a_stale_or_future_standard_timestamp_is_refused(off: timedelta) -> None:
    replayed = signed_standard(BODY, at=NOW + off)

    assert STANDARD.verify(endpoint("standard"), (SECRET,), replayed) == "the signed timestamp is too far from now"


def test_a_standard_secret_may_be_given_as_the_provider_shows_it() -> None:
    import base64

    shown = b"whsec_" + base64.b64encode(SECRET)

    assert STANDARD.verify(endpoint("standard"), (shown,), signed_standard(BODY)) is None


@pytest.mark.parametrize("timestamp", ["", "soon", "-1", "²", "9" * 30])
def test_a_standard_timestamp_that_is_no_number_is_refused(timestamp: str) -> None:
    good = signed_standard(BODY)
    headers = tuple((key, timestamp if key == "webhook-timestamp" else value) for key, value in good.headers)
    changed = Delivery(method="POST", path="", query="", headers=headers, body=BODY, received_at=NOW)

    assert STANDARD.verify(endpoint("standard"), (SECRET,), changed) is not None
