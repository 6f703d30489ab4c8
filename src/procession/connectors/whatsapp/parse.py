"""A signed body becomes events, sightings, and what could not be read or routed: each element by itself."""

from procession.connectors.fields import Unfit
from procession.connectors.whatsapp.arrivals import arrival_of
from procession.connectors.whatsapp.routes import Routes
from procession.connectors.whatsapp.statuses import sighting_of
from procession.connectors.whatsapp.wrapper import STATUSES, read_elements
from procession.core.event import Sighting
from procession.ports.connector import Arrival, Delivery, Parsed, Unreadable


def parse_body(routes: Routes, delivery: Delivery) -> Parsed:
    """Whatever the body holds, it is answered. What is nobody's is kept as a body of its own, to be read again."""
    arrivals: list[Arrival] = []
    sightings: list[Sighting] = []
    unreadable: list[Unreadable] = []
    for element in read_elements(delivery.body):
        if isinstance(element, Unreadable):
            unreadable.append(element)
            continue
        try:
            route = routes.of(element)
            if element.part == STATUSES:
                sightings.append(sighting_of(element.fields, route))
            else:
                arrivals.append(arrival_of(element, route, delivery.received_at))
        except Unfit as unfit:
            unreadable.append(Unreadable(reason=str(unfit), body=element.body()))
    return Parsed(arrivals=tuple(arrivals), sightings=tuple(sightings), unreadable=tuple(unreadable))
