"""What an element of a webhook says, read from Meta's documented fields and from nothing of the engine's."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from procession.core.ids import ChannelName, EventId, TenantId, event_id
from procession.ports.directory import Channel
from procession.testing.whatsapp.webhook import ECHOES, STATUSES, Element

EventKey = tuple[TenantId, EventId]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An event that will come."""

    key: EventKey
    tenant: TenantId
    channel: ChannelName
    kind: str
    label: str
    """Of the person that it is about."""
    names: tuple[str, ...]
    """By which it says who that is."""
    retires: tuple[str, ...]
    text: str

    @property
    def is_text(self) -> bool:
        return self.kind == "whatsapp.text"


def said_by(element: Element, channel: Channel, label: str) -> Said | None:
    """None: a status."""
    if element.field_ == STATUSES:
        return None
    value: Mapping[str, Any] = element.value
    own = str(value["id"])
    provider_id = f"echo:{own}" if element.field_ == ECHOES else own
    kind = "echo" if element.field_ == ECHOES else str(value["type"])
    names, retires = _names(element, value)
    return Said(
        key=(channel.tenant, event_id(channel.tenant, channel.name, provider_id)),
        tenant=channel.tenant,
        channel=channel.name,
        kind=f"whatsapp.{kind}",
        label=label,
        names=names,
        retires=retires,
        text=value["text"]["body"] if "text" in value else "",
    )


def _names(element: Element, value: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if element.field_ == ECHOES:
        return _there(value.get("to"), value.get("to_user_id")), ()
    contact = element.contact or {}
    phone = value.get("from", contact.get("wa_id"))
    user = value.get("from_user_id", contact.get("user_id"))
    if value["type"] != "system":
        return _there(phone, user), ()
    told = value["system"]
    new_phone, new_user = told.get("wa_id"), told.get("user_id")
    old_phone = phone if new_phone is not None and phone != new_phone else None
    old_user = user if new_user is not None and user != new_user else None
    retires = _there(old_phone, old_user)
    return (*_there(new_phone or phone, new_user or user), *retires), retires


def _there(*names: object) -> tuple[str, ...]:
    return tuple(str(name) for name in names if name is not None)


def events_in(body: bytes) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Of a delivery: phone number's id, element, and the name of the list that it stands in."""
    for entry in json.loads(body)["entry"]:
        for change in entry["changes"]:
            value = change["value"]
            number = value["metadata"]["phone_number_id"]
            for part, elements in value.items():
                if part in _PARTS and isinstance(elements, Sequence):
                    for element in elements:
                        yield number, element, part


_PARTS: Final = frozenset({"messages", "message_echoes", STATUSES})
