"""A connector for the simulated provider: its actions are of all three kinds, and statuses come back for each send.

Inbound it reads and verifies as the plain connector does, whose parts it uses; a body with `statuses` holds sightings.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, assert_never

from procession.connectors.plain import PlainConnector
from procession.connectors.terms import read_terms
from procession.core.effect import Receipt, Repeatability, Terms
from procession.core.errors import BadRequest
from procession.core.event import Sighting
from procession.core.ids import EffectId
from procession.core.pace import Pace
from procession.core.verdict import Absent, Confirmed, Deferred, Refused, Uncertain, Verdict
from procession.ports.clock import Clock
from procession.ports.connector import Answer, Call, Delivery, Parsed, Shaped, Unreadable, Whom
from procession.ports.directory import Channel, Endpoint, Setting
from procession.ports.wire import Answered, NotSent, Unclear, WirePort, WireRequest

ACTIONS: Final[Mapping[str, Repeatability]] = {
    "say": Repeatability.UNSAFE,
    "book": Repeatability.PROBED,
    "note": Repeatability.KEYED,
}
DEADLINE: Final = timedelta(seconds=1.5)
_RECEIPTS: Final = {"sent": Receipt.SENT, "delivered": Receipt.DELIVERED, "read": Receipt.READ, "failed": Receipt.NONE}


def signed(secret: bytes, body: bytes) -> str:
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


class Messenger:
    """Inbound and outbound."""

    name = "messenger"

    def __init__(self, clock: Clock) -> None:
        self._plain = PlainConnector(clock)

    # --- inbound ---

    def check_endpoint(self, settings: Mapping[str, Setting]) -> None:
        self._plain.check_endpoint(settings)

    def check_channel(self, settings: Mapping[str, Setting]) -> None:
        self._plain.check_channel(settings)

    def verify(self, endpoint: Endpoint, secrets: Sequence[bytes], delivery: Delivery) -> str | None:
        return self._plain.verify(endpoint, secrets, delivery)

    def handshake(self, endpoint: Endpoint, tokens: Mapping[str, bytes], delivery: Delivery) -> Answer | None:
        return self._plain.handshake(endpoint, tokens, delivery)

    def parse(self, endpoint: Endpoint, channels: Sequence[Channel], delivery: Delivery) -> Parsed:
        if b'"statuses"' not in delivery.body:
            return self._plain.parse(endpoint, channels, delivery)
        accounts = {channel.account: channel for channel in channels}
        sightings, unreadable = [], []
        for told in json.loads(delivery.body)["statuses"]:
            channel = accounts.get(told["account"])
            if channel is None:
                unreadable.append(Unreadable(reason="no such account", body=json.dumps(told).encode()))
            else:
                sightings.append(_sighting(channel, told))
        return Parsed(sightings=tuple(sightings), unreadable=tuple(unreadable))

    # --- outbound ---

    def actions(self) -> Mapping[str, Repeatability]:
        return ACTIONS

    def shape(self, channel: Channel, whom: Whom, action: str | None, value: object) -> Shaped:
        del channel, whom
        return Shaped(action=action or "say", value=value)

    def terms(self, settings: Mapping[str, Setting], action: str) -> Terms:
        return read_terms(settings, ACTIONS[action])

    def pace(self, channel: Channel) -> Pace | None:
        del channel
        return None

    def check_payload(self, action: str, payload: bytes) -> None:
        if action not in ACTIONS or len(payload) > 100_000:
            raise BadRequest(f"no {action!r} of {len(payload)} bytes")

    async def perform(self, call: Call, wire: WirePort) -> Verdict:
        answer = await wire.call(_request(call, "POST", call.effect.action))
        match answer:
            case Answered(status=200, body=body):
                return Confirmed(ref=json.loads(body)["ref"])
            case Answered(status=429):
                return Deferred(after=timedelta(seconds=0.5), reason="throttled", counts=False)
            case Answered(status=400):
                return Refused(reason="refused", code="400")
            case Answered(status=status):
                return Uncertain(reason=f"answered {status}", after=timedelta(seconds=0.3))
            case NotSent(reason=reason):
                return Deferred(after=timedelta(seconds=0.3), reason=f"not sent: {reason}")
            case Unclear(reason=doubt):
                return Uncertain(reason=f"no whole answer: {doubt}", after=timedelta(seconds=0.3))
            case _ as never:
                assert_never(never)

    async def probe(self, call: Call, wire: WirePort) -> Verdict:
        answer = await wire.call(_request(call, "GET", "probe"))
        match answer:
            case Answered(status=200, body=body):
                return Confirmed(ref=json.loads(body)["ref"])
            case Answered(status=404):
                return Absent(reason="not there")
            case _:
                return Uncertain(reason="no answer to the probe", after=timedelta(seconds=0.5))


def _request(call: Call, method: str, action: str) -> WireRequest:
    return WireRequest(
        method=method,
        url=f"{call.channel.settings['url']}/{action}",
        headers=(("x-effect", call.effect.id), ("authorization", call.secrets["token"].decode())),
        body=call.effect.payload if method == "POST" else b"",
        deadline=min(call.deadline, DEADLINE),
        may_begin=call.may_begin,
    )


def _sighting(channel: Channel, told: Mapping[str, str]) -> Sighting:
    effect = told.get("effect")
    return Sighting(
        tenant=channel.tenant,
        channel=channel.name,
        receipt=_RECEIPTS[told["status"]],
        effect=None if effect is None else EffectId(effect),
        ref=told["ref"],
        failed=told["status"] == "failed",
    )
