"""The suite over any JSON webhook with an HMAC in a header."""

import json

import pytest

from procession.connectors.plain import PlainConnector
from procession.ports.wire import Answered
from procession.testing.stand_ins import ManualClock
from tests.conformance.connectors.harness import Harness, Said
from tests.conformance.connectors.suite import every_case
from tests.unit.connectors.deliveries import NOW, OTHER_SECRET, SECRET, channel, endpoint, signed


def word(*said: Said) -> bytes:
    return json.dumps(
        [{"id": each.id, "lane": "a", "kind": "k", "account": each.account, "text": each.text} for each in said]
    ).encode()


@pytest.fixture
def harness() -> Harness:
    return Harness(
        connector=PlainConnector(ManualClock(NOW)),
        endpoint=endpoint(elements="/", account="/account"),
        mine=channel("acme", "1", url="https://acme.example/in"),
        theirs=channel("bolt", "2"),
        secret=SECRET,
        other_secret=OTHER_SECRET,
        sign=signed,
        word=word,
        taken=Answered(status=204),
        secrets={"signing": SECRET},
    )


globals().update(every_case())
