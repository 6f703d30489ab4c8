"""Deliveries and directories for tests of connectors and ingress."""

import base64
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime

from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.connector import Delivery
from procession.ports.directory import Channel, Endpoint, Setting
from procession.ports.vault import SecretName

SECRET = b"a signing secret of 32 bytes ..!"
OTHER_SECRET = b"another signing secret, 32 bytes"
NOW = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)
FIELDS: Mapping[str, Setting] = {"id": "/id", "lane": "/lane", "kind": "/kind"}


def signed(body: bytes, secret: bytes = SECRET, **headers: str) -> Delivery:
    digest = hmac.digest(secret, body, "sha256").hex()
    return delivery(body, **{"x-signature-256": f"sha256={digest}", **_named(headers)})


def delivery(body: bytes, **headers: str) -> Delivery:
    named = {"content-type": "application/json", **_named(headers)}
    return Delivery(
        method="POST", path="/hooks/shop", query="", headers=tuple(named.items()), body=body, received_at=NOW
    )


def signed_standard(body: bytes, secret: bytes = SECRET, *, own_id: str = "msg_1", at: datetime = NOW) -> Delivery:
    timestamp = str(int(at.timestamp()))
    content = f"{own_id}.{timestamp}.".encode() + body
    digest = base64.b64encode(hmac.digest(secret, content, "sha256")).decode()
    named = {"webhook-id": own_id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{digest}"}
    return delivery(body, **named)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def endpoint(connector: str = "plain", **settings: Setting) -> Endpoint:
    return Endpoint(
        name=EndpointName("shop"),
        connector=connector,
        signing=(SecretName("endpoint/shop/signing/1"),),
        settings=settings,
    )


def channel(
    tenant: str = "acme",
    account: str = "",
    connector: str = "plain",
    fields: Mapping[str, Setting] = FIELDS,
    **settings: str,
) -> Channel:
    return Channel(
        tenant=TenantId(tenant),
        name=ChannelName("main"),
        endpoint=EndpointName("shop"),
        connector=connector,
        account=account,
        settings={**FIELDS, **fields, **settings},
    )
