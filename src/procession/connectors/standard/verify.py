"""Standard Webhooks, inbound: a list of signatures over id, timestamp and body; stale timestamps are refused."""

import base64
import binascii
import hmac
from collections.abc import Iterator, Sequence
from datetime import timedelta

from procession.connectors.standard_signature import key_of, signature
from procession.ports.connector import Delivery


def verify_standard(secrets: Sequence[bytes], delivery: Delivery, tolerance: timedelta) -> str | None:
    keys = [key for secret in secrets if (key := key_of(secret)) is not None]
    if not keys:
        return "the endpoint has no usable signing secret"
    own_id, timestamp = delivery.header("webhook-id"), delivery.header("webhook-timestamp")
    signatures = delivery.header("webhook-signature")
    if own_id is None or timestamp is None or signatures is None:
        return "a single webhook-id, webhook-timestamp and webhook-signature are needed"
    if not timestamp.isdecimal() or not timestamp.isascii() or len(timestamp) > 12:
        return "webhook-timestamp is not seconds since 1970"
    good = False
    for digest in _digests(signatures):
        for key in keys:
            good |= hmac.compare_digest(signature(key, own_id, timestamp, delivery.body), digest)
    if not good:
        return "no signature fits the body"
    # Compared after the signature, so that an unsigned request learns nothing of our clock.
    if abs(delivery.received_at.timestamp() - int(timestamp)) > tolerance.total_seconds():
        return "the signed timestamp is too far from now"
    return None


def _digests(signatures: str) -> Iterator[bytes]:
    # A sender in the middle of a rotation lists a few; more than that only makes us compute.
    for part in signatures.split(" ")[:8]:
        version, _, text = part.partition(",")
        if version == "v1":
            try:
                yield base64.b64decode(text.encode("ascii"), validate=True)
            except (ValueError, binascii.Error):
                continue
