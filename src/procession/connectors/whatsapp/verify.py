"""Meta signs the raw body with the app secret: `X-Hub-Signature-256: sha256=<hex>`. No time is signed, so that a
captured body stays good: what guards against its repeat is the memory of ids alone.

Before it delivers anything, Meta asks whether the URL is ours: it says the token that somebody wrote into its form, and
wants its challenge back.
"""

import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

from procession.connectors.plain.verify import Scheme, verify_hmac
from procession.ports.connector import Answer, Delivery

SCHEME: Final = Scheme(header="x-hub-signature-256", prefix="sha256=", encoding="hex", algorithm="sha256")
VERIFY_TOKEN: Final = "verify_token"  # noqa: S105 (the name of a field)
_CHALLENGE: Final = re.compile(r"[0-9A-Za-z_-]{1,128}", re.ASCII)
"""What is echoed: nothing that a browser could take for a page."""
_FIELDS_MAX: Final = 16
_REFUSED: Final = Answer(status=403)


def verify_signature(secrets: Sequence[bytes], delivery: Delivery) -> str | None:
    said = delivery.header(SCHEME.header)
    if said is not None and said != said.lower():
        return "the signature is not in lower case: Meta's always is"
    return verify_hmac(SCHEME, secrets, delivery)


def shake_hands(tokens: Mapping[str, bytes], delivery: Delivery) -> Answer | None:
    """The challenge, if the token is ours.

    None (a plain 404) for whatever is no handshake at all, so that a passing browser learns nothing. 403 for a
    handshake that fails: the operator who has just typed a token into Meta's form is to see that it was the token.
    """
    said = _fields(delivery.query)
    if said.get("hub.mode") != "subscribe":
        return None
    ours, token = tokens.get(VERIFY_TOKEN, b""), said.get("hub.verify_token", "")
    # An endpoint without a token has to refuse, also the empty one.
    fits = hmac.compare_digest(ours, token.encode("utf-8", "surrogateescape"))
    challenge = said.get("hub.challenge", "")
    if not ours or not fits or not _CHALLENGE.fullmatch(challenge):
        return _REFUSED
    return Answer(status=200, body=challenge.encode("ascii"))


def _fields(query: str) -> Mapping[str, str]:
    """Those that are there once: of two values nobody knows which one is meant."""
    try:
        read = parse_qs(query, keep_blank_values=True, max_num_fields=_FIELDS_MAX)
    except ValueError:
        return {}
    return {name: values[0] for name, values in read.items() if len(values) == 1}
