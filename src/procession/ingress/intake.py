"""From what a connector read to what the store is asked to keep: ids, windows, and what has to be quarantined."""

from collections.abc import Iterable
from datetime import datetime

from procession.core.event import Intake, NewEvent, Quarantined
from procession.core.ids import EndpointName, event_id, lane_id, quarantine_id
from procession.ingress.doors import DoorOf, Doors
from procession.ports.connector import Arrival, Delivery, Parsed, Unreadable


def intake_of(door: DoorOf, doors: Doors, delivery: Delivery, parsed: Parsed) -> Intake:
    name = door.endpoint.name
    events: list[NewEvent] = []
    unreadable = list(parsed.unreadable)
    for arrival in parsed.arrivals:
        reason = _why_not(doors, arrival, delivery.received_at)
        if reason is None:
            events.append(new_event(doors, arrival))
        else:
            unreadable.append(Unreadable(reason=reason, body=arrival.payload))
    return Intake(
        endpoint=name,
        events=tuple(events),
        sightings=parsed.sightings,
        quarantined=tuple(quarantined(name, delivery, unreadable)) if unreadable else (),
    )


def new_event(doors: Doors, arrival: Arrival) -> NewEvent:
    tenant, channel = arrival.tenant, arrival.channel
    return NewEvent(
        tenant=tenant,
        channel=channel,
        lane=lane_id(tenant, channel, arrival.lane_key),
        lane_key=arrival.lane_key,
        id=event_id(tenant, channel, arrival.provider_id),
        provider_id=arrival.provider_id,
        kind=arrival.kind,
        payload=arrival.payload,
        occurred_at=arrival.occurred_at,
        order=arrival.order,
        window=doors.window(tenant, arrival.kind, arrival.text),
        aliases=arrival.aliases,
        retires=arrival.retires,
        hears=arrival.hears,
        pause=arrival.pause,
    )


def _why_not(doors: Doors, arrival: Arrival, now: datetime) -> str | None:
    if not doors.is_active(arrival.tenant):
        return f"tenant {arrival.tenant} is not active"
    if arrival.occurred_at is not None and now - arrival.occurred_at > doors.age_max:
        # Dedup forgets after so long: what is older could be a replay of something that was played already.
        return f"it is older than {doors.age_max.days} days: it may have been played before"
    return None


def quarantined(endpoint: EndpointName, delivery: Delivery, parts: Iterable[Unreadable]) -> Iterable[Quarantined]:
    for part in parts:
        yield Quarantined(
            id=quarantine_id(endpoint, part.body),
            endpoint=endpoint,
            reason=part.reason,
            body=part.body,
            headers=_kept_headers(delivery),
        )


_KEPT = frozenset({"content-type", "user-agent", "webhook-id", "webhook-timestamp"})


def _kept_headers(delivery: Delivery) -> tuple[tuple[str, str], ...]:
    """What helps to route it later. Signatures and authorisations are left out: they are as good as secrets."""
    return tuple((name, value) for name, value in delivery.headers if name in _KEPT or _is_topic(name))


def _is_topic(name: str) -> bool:
    return name.startswith("x-") and not any(
        word in name for word in ("sign", "hmac", "auth", "token", "key", "secret")
    )
