"""The harness's own events: the n-th of a lane, as signed JSON."""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    event: str
    lane: str
    n: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


Deliver = Callable[[str, int], Delivery]
"""Makes the n-th delivery of a lane, the same bytes at every call."""


def signed_deliveries(
    secret: bytes, *, header: str = "x-signature", kind: str = "chaos", padding: int = 0, prefix: str = "ev"
) -> Deliver:
    """JSON `{"id", "kind", "lane", "n"}`, signed with HMAC-SHA256 in hexadecimal digits in a header."""

    def deliver(lane: str, n: int) -> Delivery:
        event = f"{prefix}-{lane}-{n}"
        content: dict[str, str | int] = {"id": event, "kind": kind, "lane": lane, "n": n}
        if padding:
            content["padding"] = "x" * padding
        body = json.dumps(content).encode()
        headers = {"Content-Type": "application/json", header: hmac.new(secret, body, hashlib.sha256).hexdigest()}
        return Delivery(event=event, lane=lane, n=n, body=body, headers=headers)

    return deliver
