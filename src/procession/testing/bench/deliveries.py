"""Webhooks as a platform sends them: signed JSON of about 1 KB, a thousand conversations of fifty tenants."""

import hmac
import json
from collections.abc import Iterator
from itertools import count, islice
from typing import Final

SECRET: Final = b"a signing secret of a bench, long enough"
TENANTS: Final = 50
LANES: Final = 1_000
REDELIVERED_EACH: Final = 10
"""Each so many-th delivery is an earlier one once more."""
REDELIVERED_BEHIND: Final = 500
"""How far back that one lies: it was answered long before."""
ACCOUNTS: Final = tuple(f"t{number:02}" for number in range(TENANTS))
PATH: Final = "/hooks/bench"
_FILLER: Final = "Guten Tag, wann kommt meine Bestellung? " * 17


def request(own_id: str, *, lane: int, kind: str, sent: float = 0.0) -> bytes:
    """One request, whole."""
    account = ACCOUNTS[lane % TENANTS]
    who = f"4917{lane:08}"
    body = json.dumps(
        {
            "id": own_id,
            "account": account,
            "who": who,
            "kind": kind,
            "sent": sent,
            "timestamp": "1767225600",
            "text": _FILLER,
            "contacts": [{"wa_id": who, "name": "Erika Mustermann"}],
            "metadata": {"display_phone_number": "4930123456", "phone_number_id": "106540352242922"},
        },
    ).encode()
    signature = hmac.digest(SECRET, body, "sha256").hex()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: hooks.example.com\r\nUser-Agent: facebookexternalua\r\nAccept: */*\r\n"
        f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\nX-Signature-256: sha256={signature}\r\n"
        "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n\r\n"
    )
    return head.encode() + body


def requests(prefix: str, kind: str, *, lanes: int = LANES, redelivered: bool = True) -> Iterator[bytes]:
    """Without end: lane after lane, and now and then one that was there before."""
    earlier: list[bytes] = []
    for number in count():
        if redelivered and number % REDELIVERED_EACH == REDELIVERED_EACH - 1 and len(earlier) >= REDELIVERED_BEHIND:
            yield earlier[-REDELIVERED_BEHIND]
            continue
        made = request(f"{prefix}.{number:x}", lane=number % lanes, kind=kind)
        if redelivered:
            earlier.append(made)
            if len(earlier) > 2 * REDELIVERED_BEHIND:
                del earlier[:REDELIVERED_BEHIND]
        yield made


def some(number: int, prefix: str, kind: str, *, lanes: int = LANES, redelivered: bool = True) -> list[bytes]:
    return list(islice(requests(prefix, kind, lanes=lanes, redelivered=redelivered), number))
