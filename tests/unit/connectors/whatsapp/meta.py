"""Bodies as Meta sends them, re-typed to shape, and the channels that they come for."""

import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from procession.connectors.whatsapp import WhatsAppConnector
from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.connector import Delivery, Parsed
from procession.ports.directory import Channel, Endpoint, Setting
from procession.ports.vault import SecretName

SECRET: Final = b"an app secret of Meta's, 32 bytes"
NOW: Final = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)
SENT_AT: Final = NOW - timedelta(seconds=3)
NUMBER: Final = "106540352242922"
WABA: Final = "102290129340398"
PHONE: Final = "4915112345678"
PERSON: Final = "DE.13491208655302741918"
OBJECT: Final = "whatsapp_business_account"
ENDPOINT: Final = Endpoint(
    name=EndpointName("meta"),
    connector="whatsapp",
    signing=(SecretName("endpoint/meta/signing/1"),),
    secrets={"verify_token": SecretName("endpoint/meta/verify_token")},
)
CONNECTOR: Final = WhatsAppConnector()


def channel(tenant: str = "acme", account: str = NUMBER, name: str = "main", **settings: Setting) -> Channel:
    return Channel(
        tenant=TenantId(tenant),
        name=ChannelName(name),
        endpoint=ENDPOINT.name,
        connector="whatsapp",
        account=account,
        secrets={"token": SecretName(f"channel/{name}/token")},
        settings=settings,
    )


def contact(phone: str | None = PHONE, person: str | None = PERSON, name: str = "Ann") -> dict[str, object]:
    own: dict[str, object] = {"profile": {"name": name}}
    return {**own, **_said(wa_id=phone, user_id=person)}


def message(kind: str = "text", wamid: str = "wamid.A", **more: object) -> dict[str, object]:
    own = {
        "from": PHONE,
        "from_user_id": PERSON,
        "id": wamid,
        "timestamp": str(int(SENT_AT.timestamp())),
        "type": kind,
    }
    return {**own, **(more or {"text": {"body": "hello"}})}


def status(word: str = "delivered", wamid: str = "wamid.S", **more: object) -> dict[str, object]:
    own = {"id": wamid, "status": word, "timestamp": str(int(SENT_AT.timestamp())), "recipient_id": PHONE}
    return {**own, **more}


def value(number: str | None = NUMBER, **parts: object) -> dict[str, object]:
    metadata = _said(display_phone_number="4930111", phone_number_id=number)
    return {"messaging_product": "whatsapp", "metadata": metadata, **parts}


def change(content: Mapping[str, object], field: str = "messages") -> dict[str, object]:
    return {"field": field, "value": content}


def entry(*changes: object, waba: str = WABA, **more: object) -> dict[str, object]:
    return {"id": waba, **more, "changes": list(changes)}


def body(*entries: object) -> bytes:
    return json.dumps({"object": OBJECT, "entry": list(entries)}).encode()


def of_messages(*messages: object, contacts: tuple[object, ...] | None = None, number: str = NUMBER) -> bytes:
    own = (contact(),) if contacts is None else contacts
    return body(entry(change(value(number, contacts=list(own), messages=list(messages)))))


def delivery(raw: bytes, **headers: str) -> Delivery:
    named = {"content-type": "application/json", **{name.replace("_", "-"): said for name, said in headers.items()}}
    return Delivery(
        method="POST", path="/hooks/meta", query="", headers=tuple(named.items()), body=raw, received_at=NOW
    )


def signed(raw: bytes, secret: bytes = SECRET) -> Delivery:
    return delivery(raw, x_hub_signature_256=f"sha256={hmac.digest(secret, raw, 'sha256').hex()}")


def handshake(query: str) -> Delivery:
    return Delivery(method="GET", path="/hooks/meta", query=query, headers=(), body=b"", received_at=NOW)


def parsed(raw: bytes, *channels: Channel) -> Parsed:
    return CONNECTOR.parse(ENDPOINT, channels or (channel(),), delivery(raw))


def _said(**fields: str | None) -> dict[str, object]:
    return {name: said for name, said in fields.items() if said is not None}
