"""The first stage: a delivery comes in, is verified, read, written down, and only then answered.

    delivery → find the door → check the envelope → verify → parse → intake → accept → answer

Nothing is answered 2xx before `accept` has returned; what `accept` left unknown is answered 503, and the provider's
repeat is absorbed by dedup.
"""

from datetime import timedelta
from typing import Final

from procession.core.errors import BadRequest, StoreError
from procession.core.event import Acceptance, Intake
from procession.ingress.answers import (
    AWAY,
    KEPT,
    NO_SUCH_ENDPOINT,
    NO_SUCH_PAGE,
    NOT_READY,
    NOT_SIGNED,
    WRONG_METHOD,
    WRONG_TYPE,
    HttpAnswer,
)
from procession.ingress.doors import DoorOf, Doors
from procession.ingress.intake import intake_of
from procession.ports.bell import Bell, Ring
from procession.ports.connector import Delivery, Parsed, Unreadable
from procession.ports.store import Store
from procession.ports.telemetry import Telemetry
from procession.runtime.crashpoint import crashpoint
from procession.runtime.patience import Patience

ACCEPT_WAIT: Final = timedelta(seconds=5)
"""How long a delivery may wait for its commit: providers give up after 5 to 20 s, and then repeat it anyway."""


class Receiver:
    def __init__(self, *, store: Store, doors: Doors, bell: Bell, telemetry: Telemetry) -> None:
        self._store = store
        self._doors = doors
        self._bell = bell
        self._telemetry = telemetry
        self._patience = Patience(ACCEPT_WAIT)

    @property
    def is_ready(self) -> bool:
        return self._doors.is_ready

    async def receive(self, name: str, delivery: Delivery) -> HttpAnswer:
        door = self._doors.find(name)
        if door is None:
            return NO_SUCH_ENDPOINT if self._doors.is_ready else NOT_READY
        if delivery.method == "GET":
            return self._handshake(door, delivery)
        refusal = _envelope(delivery) or self._verify(door, delivery)
        if refusal is not None:
            return refusal
        intake = self._read(door, delivery)
        try:
            acceptance = await self._accept(door, intake)
        except BadRequest as refusal:
            # A connector has let through what no store can hold. The provider would repeat it for days.
            self._telemetry.warn("ingress.not_storable", endpoint=door.endpoint.name)
            intake = self._aside(door, delivery, f"the store cannot hold it: {refusal}")
            acceptance = await self._accept(door, intake)
        if acceptance is None:
            return AWAY
        crashpoint("accept.before_answer")
        self._tell(intake, acceptance)
        return KEPT

    def _handshake(self, door: DoorOf, delivery: Delivery) -> HttpAnswer:
        answer = door.connector.handshake(door.endpoint, door.tokens, delivery)
        if answer is None:
            return NO_SUCH_PAGE
        return HttpAnswer(status=answer.status, body=answer.body, content_type=answer.content_type.encode("ascii"))

    def _verify(self, door: DoorOf, delivery: Delivery) -> HttpAnswer | None:
        why_not = door.connector.verify(door.endpoint, door.secrets, delivery)
        if why_not is None:
            return None
        self._telemetry.count("ingress.unsigned")
        self._telemetry.note("ingress.unsigned", endpoint=door.endpoint.name, reason=why_not)
        return NOT_SIGNED

    def _read(self, door: DoorOf, delivery: Delivery) -> Intake:
        """The delivery is signed: from here on it is kept, whatever it holds."""
        try:
            parsed = door.connector.parse(door.endpoint, door.channels, delivery)
        except Exception as error:  # noqa: BLE001 - a connector's bug must not cost a delivery: its body is kept instead
            self._telemetry.warn("ingress.parse_failed", endpoint=door.endpoint.name, error=type(error).__name__)
            return self._aside(door, delivery, f"the connector failed: {type(error).__name__}")
        return intake_of(door, self._doors, delivery, parsed)

    def _aside(self, door: DoorOf, delivery: Delivery, reason: str) -> Intake:
        """The whole of it, in quarantine."""
        whole = Parsed(unreadable=(Unreadable(reason=reason, body=delivery.body),))
        return intake_of(door, self._doors, delivery, whole)

    async def _accept(self, door: DoorOf, intake: Intake) -> Acceptance | None:
        """None: it is not known to be kept."""
        try:
            return await self._patience.wait_for(self._store.accept(intake))
        except (StoreError, TimeoutError) as error:
            self._telemetry.count("ingress.not_kept")
            self._telemetry.warn("ingress.not_kept", endpoint=door.endpoint.name, error=type(error).__name__)
            return None

    def _tell(self, intake: Intake, acceptance: Acceptance) -> None:
        fresh = 0
        for placement in acceptance.placements:
            fresh += placement.fresh
        if fresh:
            self._telemetry.count("ingress.accepted", fresh)
            self._bell.ring(Ring.TURNS)
        if len(acceptance.placements) > fresh:
            self._telemetry.count("ingress.duplicates", len(acceptance.placements) - fresh)
        if intake.quarantined:
            self._telemetry.count("ingress.quarantined", len(intake.quarantined))
        if intake.sightings:
            self._telemetry.count("ingress.sightings", len(intake.sightings))
            self._bell.ring(Ring.SENDS)
        if any(event.order is not None or event.window is not None for event in intake.events):
            self._bell.ring(Ring.UPKEEP)


def _envelope(delivery: Delivery) -> HttpAnswer | None:
    """What can be refused before the signature is even looked at, since no honest provider sends it."""
    if delivery.method != "POST":
        return WRONG_METHOD
    encoding, kind = delivery.header("content-encoding"), delivery.header("content-type")
    if encoding not in (None, "identity"):
        return WRONG_TYPE
    if kind is None or kind.partition(";")[0].strip().lower() != "application/json":
        return WRONG_TYPE
    return None
