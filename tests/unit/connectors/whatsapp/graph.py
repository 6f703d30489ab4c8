"""Calls to a Graph that answers what it is told."""

import json
from collections.abc import Mapping
from datetime import timedelta

from procession.core.effect import Effect, EffectState, Terms
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId
from procession.core.verdict import Verdict
from procession.ports.connector import Call
from procession.ports.directory import Channel
from procession.ports.wire import Answered, WireAnswer, WireRequest
from tests.unit.connectors.whatsapp.meta import CONNECTOR, NOW, PHONE, channel

TOKEN = b"EAAG-a-system-users-token"
OWN_ID = "ef_dff66d6f0fed4cf679c6b69fbe11d8c8"
TEXT = {"messaging_product": "whatsapp", "to": f"+{PHONE}", "type": "text", "text": {"body": "hello"}}
READ = {"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.A"}
TAKEN = {"messaging_product": "whatsapp", "contacts": [{"input": PHONE}], "messages": [{"id": "wamid.B"}]}


class SaidWire:
    """A wire that answers what it was told, and keeps what it was asked."""

    def __init__(self, answer: WireAnswer) -> None:
        self._answer = answer
        self.requests: list[WireRequest] = []

    async def call(self, request: WireRequest) -> WireAnswer:
        self.requests.append(request)
        return self._answer

    async def close(self) -> None: ...


def call(
    action: str = "text",
    content: Mapping[str, object] | bytes = TEXT,
    *,
    attempt: int = 1,
    through: Channel | None = None,
    token: bytes | None = TOKEN,
) -> Call:
    effect = Effect(
        tenant=TenantId("acme"),
        id=EffectId(OWN_ID),
        channel=ChannelName("main"),
        lane=LaneId("ln_1"),
        lane_key=PHONE,
        oseq=1,
        turn=EventId("ev_1"),
        key="#0",
        action=action,
        payload=content if isinstance(content, bytes) else json.dumps(content).encode(),
        terms=Terms(),
        state=EffectState.ARMED,
        attempts=attempt,
        tries=attempt,
        asked_at=NOW,
    )
    return Call(
        effect=effect,
        attempt=attempt,
        channel=channel() if through is None else through,
        secrets={} if token is None else {"token": token},
        deadline=timedelta(seconds=30),
        may_begin=lambda: True,
    )


def said(content: object, status: int = 200) -> Answered:
    return Answered(status=status, body=json.dumps(content).encode())


def fault(code: object, status: int = 400, **more: object) -> Answered:
    """An error as Graph words it, with a person's number in its text."""
    error = {"message": f"(#{code}) {PHONE} is not reachable", "type": "OAuthException", "code": code, **more}
    return said({"error": error}, status)


async def verdict_of(answer: WireAnswer, asked: Call | None = None) -> Verdict:
    return await CONNECTOR.perform(asked or call(), SaidWire(answer))
