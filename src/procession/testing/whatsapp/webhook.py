"""The JSON of Meta's webhooks: single elements, and the deliveries that wrap several of them, signed."""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from procession.testing.whatsapp.book import Accepted, Passage
from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.person import Person

MESSAGES: Final = "messages"
STATUSES: Final = "statuses"
ECHOES: Final = "message_echoes"
Json = dict[str, object]


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    number: Number
    field_: str
    """Under which name it stands in its `value`."""
    value: Json
    contact: Json | None = None
    change: str = "messages"
    """The field of the account that it is subscribed under."""
    passage: Passage = field(default_factory=Passage)
    on_taken: Callable[[], None] = _nothing
    """Called once, when a delivery with it was answered 200."""


def text_element(person: Person, wamid: str, body: str, now: datetime, passage: Passage) -> Element:
    value = {**_sender(person), "id": wamid, "timestamp": _stamp(now), "type": "text", "text": {"body": body}}
    return Element(number=person.number, field_=MESSAGES, value=value, contact=_contact(person), passage=passage)


def moved_element(
    person: Person, wamid: str, phone: str, user_id: str, now: datetime, on_taken: Callable[[], None]
) -> Element:
    """A system element stands without a contact, and under the names that are given up."""
    told: Json = {
        "type": "user_changed_number" if person.shown_phone else "user_changed_user_id",
        "body": f"User {person.label} changed from {person.shown_phone or person.user_id} to {phone}",
        "user_id": user_id,
        **({"wa_id": phone} if person.shown_phone else {}),
    }
    value = {**_sender(person), "id": wamid, "timestamp": _stamp(now), "type": "system", "system": told}
    return Element(number=person.number, field_=MESSAGES, value=value, on_taken=on_taken)


def echo_element(person: Person, wamid: str, body: str, now: datetime, passage: Passage) -> Element:
    """Somebody has written to the person in the app on the business's own phone."""
    phone, user_id = person.shown_phone, person.shown_id
    value: Json = {"from": person.number.display.lstrip("+"), "id": wamid, "timestamp": _stamp(now), "type": "text"}
    value |= {"text": {"body": body}}
    value |= {"to": phone} if phone else {}
    value |= {"to_user_id": user_id} if user_id else {}
    return Element(number=person.number, field_=ECHOES, value=value, change="smb_message_echoes", passage=passage)


def status_element(
    person: Person, sent: Accepted, status: str, happened: datetime, on_taken: Callable[[], None] = _nothing
) -> Element:
    value: Json = {"id": sent.wamid, "status": status, "timestamp": _stamp(happened)}
    phone, user_id = person.shown_phone, person.shown_id
    value |= {"recipient_id": phone} if phone else {}
    value |= {"recipient_user_id": user_id} if user_id else {}
    value |= {"biz_opaque_callback_data": sent.effect} if sent.effect is not None else {}
    return Element(number=person.number, field_=STATUSES, value=value, contact=_contact(person), on_taken=on_taken)


def delivery_of(elements: Sequence[Element]) -> bytes:
    """One body for all, in their order: neighbours of one number and kind share a `value`, of one WABA an entry."""
    entries: list[tuple[str, list[Json]]] = []
    last: tuple[Number, str] | None = None
    for element in elements:
        number = element.number
        if not entries or entries[-1][0] != number.waba:
            entries.append((number.waba, []))
            last = None
        if last != (number, element.field_):
            entries[-1][1].append({"field": element.change, "value": _value(element)})
            last = (number, element.field_)
        _add(entries[-1][1][-1], element)
    wrapped = [{"id": waba, "changes": changes} for waba, changes in entries]
    return json.dumps({"object": "whatsapp_business_account", "entry": wrapped}).encode()


def signed(body: bytes, secret: bytes) -> Mapping[str, str]:
    digest = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return {"Content-Type": "application/json", "X-Hub-Signature-256": f"sha256={digest}"}


def _value(element: Element) -> Json:
    number = element.number
    return {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": number.display, "phone_number_id": number.id},
        element.field_: [],
    }


def _add(change: Json, element: Element) -> None:
    value = change["value"]
    assert isinstance(value, dict)
    value[element.field_].append(element.value)
    if element.contact is not None:
        contacts = value.setdefault("contacts", [])
        if element.contact not in contacts:
            contacts.append(element.contact)


def _sender(person: Person) -> Json:
    phone, user_id = person.shown_phone, person.shown_id
    return {**({"from": phone} if phone else {}), **({"from_user_id": user_id} if user_id else {})}


def _contact(person: Person) -> Json:
    profile: Json = {"name": person.label, **({"username": person.username} if person.username else {})}
    phone, user_id = person.shown_phone, person.shown_id
    return {"profile": profile, **({"wa_id": phone} if phone else {}), **({"user_id": user_id} if user_id else {})}


def _stamp(at: datetime) -> str:
    return str(int(at.timestamp()))
