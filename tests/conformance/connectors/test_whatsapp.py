"""The suite over the WhatsApp Business Cloud API."""

import json

import pytest

from procession.connectors.whatsapp import WhatsAppConnector
from procession.ports.wire import Answered
from tests.conformance.connectors.harness import Harness, Said
from tests.conformance.connectors.suite import every_case
from tests.unit.connectors.whatsapp.graph import TAKEN, TOKEN
from tests.unit.connectors.whatsapp.meta import ENDPOINT, SECRET, body, change, channel, entry, message, signed, value


def word(*said: Said) -> bytes:
    return body(
        *(
            entry(change(value(each.account, messages=[message("text", each.id, text={"body": each.text})])))
            for each in said
        )
    )


@pytest.fixture
def harness() -> Harness:
    return Harness(
        connector=WhatsAppConnector(),
        endpoint=ENDPOINT,
        mine=channel("acme", "101"),
        theirs=channel("bolt", "202"),
        secret=SECRET,
        other_secret=b"another app secret, 32 bytes long",
        sign=signed,
        word=word,
        taken=Answered(status=200, body=json.dumps(TAKEN).encode()),
        secrets={"token": TOKEN},
    )


globals().update(every_case())
