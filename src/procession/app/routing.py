"""Reads a quarantined body once more: the directory may know by now what it did not then."""

from dataclasses import replace
from datetime import datetime

from procession.core.errors import BadRequest
from procession.core.event import Intake
from procession.core.ids import EndpointName
from procession.ingress.doors import DoorOf, Doors
from procession.ingress.intake import intake_of
from procession.ports.connector import Delivery
from procession.ports.console import QuarantineView


def intake_again(doors: Doors, kept: QuarantineView, endpoint: EndpointName | None, now: datetime) -> Intake:
    """What is to be accepted in its place. Its signature was good when it came, and is not asked for again."""
    name = endpoint if endpoint is not None else kept.endpoint
    door = doors.find(name)
    if door is None:
        raise BadRequest(f"there is no endpoint {name!r} (any more): name one by --endpoint")
    delivery = Delivery(
        method="POST", path=f"/hooks/{name}", query="", headers=kept.headers, body=kept.body or b"", received_at=now
    )
    whole = _read(door, doors, delivery)
    if not whole.quarantined:
        return whole
    element = _read(_as_an_element(door), doors, delivery)
    if not element.quarantined:
        return element
    raise BadRequest(f"it still cannot be read: {whole.quarantined[0].reason}; nothing was changed")


def _read(door: DoorOf, doors: Doors, delivery: Delivery) -> Intake:
    return intake_of(door, doors, delivery, door.connector.parse(door.endpoint, door.channels, delivery))


def _as_an_element(door: DoorOf) -> DoorOf:
    """A single element of a list may have been kept: then there is no list to look for."""
    settings = {name: value for name, value in door.endpoint.settings.items() if name != "elements"}
    return replace(door, endpoint=replace(door.endpoint, settings=settings))
