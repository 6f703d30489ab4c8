"""What a connector hands to the suite: how its provider signs, words and answers.

The suite knows no connector by name. It makes deliveries and calls out of a harness, and looks at what comes of them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from procession.core.effect import Effect, EffectState, Terms
from procession.core.ids import EffectId, EventId, LaneId
from procession.ports.connector import Call, Delivery, Inbound, Outbound, Shaped, Whom
from procession.ports.directory import Channel, Endpoint
from procession.ports.wire import Answered, NotSent, Unsent, WireAnswer, WireRequest
from tests.unit.connectors.deliveries import NOW

OWN_ID: Final = EffectId("ef_dff66d6f0fed4cf679c6b69fbe11d8c8")
PERSON: Final = "4915112345678"
WORDS: Final = "what nobody else may read"


class Speaks(Inbound, Outbound, Protocol):
    """Both sides of a connector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One event as a provider says it."""

    account: str
    id: str
    text: str = WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    connector: Speaks
    endpoint: Endpoint
    mine: Channel
    theirs: Channel
    """Of another tenant, behind the same endpoint."""
    secret: bytes
    other_secret: bytes
    sign: Callable[[bytes, bytes], Delivery]
    word: Callable[..., bytes]
    """A body that holds these events."""
    taken: Answered
    """What the provider answers when it has taken something."""
    secrets: Mapping[str, bytes]
    """Of a channel, for sending."""

    def signed(self, *said: Said) -> Delivery:
        return self.sign(self.word(*said), self.secret)

    def event(self, own_id: str = "e1", account: str | None = None) -> Said:
        return Said(account=self.mine.account if account is None else account, id=own_id)

    def shaped(self) -> Shaped:
        """A reply of words, as a handler asks for it."""
        whom = Whom(lane_key=PERSON, aliases=(PERSON,), heard_at=NOW - timedelta(minutes=1), now=NOW)
        return self.connector.shape(self.mine, whom, None, WORDS)

    def call(self, *, may_begin: bool = True, attempt: int = 1, action: str | None = None) -> Call:
        shaped = self.shaped()
        payload = shaped.value if isinstance(shaped.value, bytes) else json.dumps(shaped.value).encode()
        effect = Effect(
            tenant=self.mine.tenant,
            id=OWN_ID,
            channel=self.mine.name,
            lane=LaneId("ln_1"),
            lane_key=PERSON,
            oseq=1,
            turn=EventId("ev_1"),
            key="#0",
            action=action or shaped.action,
            payload=payload,
            terms=Terms(),
            state=EffectState.ARMED,
            attempts=attempt,
            tries=attempt,
            asked_at=NOW,
        )
        return Call(
            effect=effect,
            attempt=attempt,
            channel=self.mine,
            secrets=self.secrets,
            deadline=timedelta(seconds=7),
            may_begin=lambda: may_begin,
        )


class ToldWire:
    """A wire that answers what it was told, if it may begin, and keeps what went out."""

    def __init__(self, answer: WireAnswer) -> None:
        self._answer = answer
        self.asked: list[WireRequest] = []
        self.written: list[WireRequest] = []

    async def call(self, request: WireRequest) -> WireAnswer:
        self.asked.append(request)
        if not request.may_begin():
            return NotSent(reason=Unsent.TRUST_LOST)
        if not isinstance(self._answer, NotSent):
            self.written.append(request)
        return self._answer

    async def close(self) -> None: ...
