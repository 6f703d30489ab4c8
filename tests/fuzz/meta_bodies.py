"""What fuzzers of the WhatsApp connector begin with, what they ask of each answer, and a count of their own.

The count walks a body as Meta documents it and knows nothing of our parser: each element of it has to be found again,
as an event, as a sighting, or as something that was kept aside.
"""

import json
from collections.abc import Mapping
from typing import Final

from procession.connectors.whatsapp import WhatsAppConnector
from procession.core.limits import ALIASES_MAX, ELEMENTS_MAX, KIND_CHARS_MAX, LANE_KEY_CHARS_MAX
from procession.ports.connector import Arrival, Parsed
from tests.unit.connectors.whatsapp.meta import (
    CONNECTOR,
    ENDPOINT,
    OBJECT,
    PERSON,
    PHONE,
    WABA,
    body,
    change,
    channel,
    contact,
    delivery,
    entry,
    message,
    status,
    value,
)

OTHER_NUMBER: Final = "106540352242999"
CHANNELS: Final = (channel("acme", waba=WABA, reorder_window=2), channel("bolt", OTHER_NUMBER))
OWNERS: Final = frozenset((each.tenant, each.name) for each in CHANNELS)
LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "messages": ("messages", "statuses", "errors"),
    "smb_message_echoes": ("message_echoes", "errors"),
    "message_echoes": ("message_echoes", "errors"),
    "history": ("history", "messages", "errors"),
}
_CHANGED: Final = {"type": "user_changed_number", "wa_id": "4917099999999", "user_id": "DE.77"}
SEEDS: Final = (
    body(
        entry(change(value(contacts=[contact()], messages=[message(), message("image", "wamid.I", image={"id": "1"})])))
    ),
    body(entry(change(value(OTHER_NUMBER, messages=[message("system", system=_CHANGED)], errors=[{"code": 1}])))),
    body(entry(change(value(statuses=[status("failed", errors=[{"code": 131026}]), status("read")])), time=1893229200)),
    body(entry(change(value(message_echoes=[message(to=PHONE)]), "smb_message_echoes"), change({}, "account_update"))),
    body(
        entry(
            change(
                value(history=[{"metadata": {"phase": 0}, "threads": [{"id": PHONE, "context": {"user_id": PERSON}}]}]),
                "history",
            )
        )
    ),
    body(
        entry(change(value(messages=[{**message(), "group_id": "g"}])), change({"waba_info": {"waba_id": WABA}}, "x"))
    ),
)


def read(raw: bytes, connector: WhatsAppConnector = CONNECTOR) -> Parsed:
    return connector.parse(ENDPOINT, CHANNELS, delivery(raw))


def check(raw: bytes) -> Parsed:
    """Whatever the bytes: it answers, to those it was told of, with names that a store can hold, and again the same."""
    found = read(raw)
    for arrival in found.arrivals:
        _check_arrival(arrival)
    for sighting in found.sightings:
        assert (sighting.tenant, sighting.channel) in OWNERS
        assert sighting.effect is not None or sighting.ref
    for part in found.unreadable:
        assert part.reason.isprintable()
        again = read(part.body)
        assert not again.arrivals, "what was kept aside is no event for the same channels"
        assert not again.sightings
        assert len(again.unreadable) == 1
    return found


def _check_arrival(arrival: Arrival) -> None:
    assert (arrival.tenant, arrival.channel) in OWNERS
    assert 0 < len(arrival.lane_key) <= LANE_KEY_CHARS_MAX
    assert 0 < len(arrival.provider_id) <= LANE_KEY_CHARS_MAX
    assert 0 < len(arrival.kind) <= KIND_CHARS_MAX
    assert len(set(arrival.aliases)) == len(arrival.aliases) <= ALIASES_MAX
    assert not arrival.aliases or arrival.lane_key in arrival.aliases
    assert set(arrival.retires) < set(arrival.aliases) or not arrival.retires
    assert isinstance(json.loads(arrival.payload), dict)
    assert read(arrival.payload).arrivals == (arrival,), "what is kept reads as it did"


def elements_in(whole: object) -> int:
    """How many elements a body has, by Meta's page; what is broken counts once, at the level where it is broken."""
    if not isinstance(whole, dict) or whole.get("object") != OBJECT or not isinstance(whole.get("entry"), list):
        return 1
    count = sum(_in_entry(each) for each in whole["entry"])
    return count if count <= ELEMENTS_MAX else 1


def _in_entry(each: object) -> int:
    if not isinstance(each, dict) or not isinstance(each.get("changes"), list):
        return 1
    return sum(_in_change(inner) for inner in each["changes"])


def _in_change(each: object) -> int:
    if not isinstance(each, dict) or not isinstance(each.get("field"), str) or not isinstance(each.get("value"), dict):
        return 1
    lists = LISTS.get(each["field"])
    there = [each["value"][name] for name in lists or () if name in each["value"]]
    if not there:
        return 1
    names = [name for name in lists or () if name in each["value"]]
    return sum(_in_list(name, inner) for name, inner in zip(names, there, strict=True))


def _in_list(name: str, inner: object) -> int:
    if not isinstance(inner, list):
        return 1
    return sum(_in_chunk(chunk) for chunk in inner) if name == "history" else len(inner)


def _in_chunk(chunk: object) -> int:
    threads = chunk.get("threads") if isinstance(chunk, dict) else None
    return len(threads) if isinstance(threads, list) and threads else 1
