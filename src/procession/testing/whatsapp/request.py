"""Reads what is POSTed to `/{version}/{phone_number_id}/messages`, as strictly as Graph does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from procession.testing.whatsapp.refusal import Refusal, invalid, missing, parameter

KINDS: Final = frozenset(
    {
        *("text", "image", "video", "audio", "document", "sticker", "location", "contacts"),
        *("interactive", "template", "reaction"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    to: str
    """A phone number in digits, or a business-scoped id."""
    said: str
    """As it was written."""
    kind: str
    body: str
    """The text, or whatever else it holds, as JSON."""
    effect: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A text is marked as read, perhaps with a sign that somebody types."""

    wamid: str
    is_typing: bool


def read_request(body: bytes, text_chars_max: int | None) -> Send | Mark | Refusal:
    try:
        document = json.loads(body)
    except ValueError:
        return parameter("the body is no JSON")
    match document:
        case {"messaging_product": "whatsapp", "status": str() as status, **rest}:
            return _mark(status, rest)
        case {"messaging_product": "whatsapp", **rest}:
            return _send(rest, text_chars_max)
        case _:
            return parameter("The parameter messaging_product is required.")


def _mark(status: str, rest: Mapping[object, object]) -> Mark | Refusal:
    wamid = rest.get("message_id")
    if status != "read":
        return parameter(f"Param status must be one of {{READ}} - got {status!r}.")
    if not isinstance(wamid, str):
        return missing("message_id")
    return Mark(wamid=wamid, is_typing=rest.get("typing_indicator") == {"type": "text"})


def _send(rest: Mapping[object, object], text_chars_max: int | None) -> Send | Refusal:
    said = rest.get("to") or rest.get("recipient")
    kind = rest.get("type", "text")
    if not isinstance(said, str):
        return missing("to")
    if not isinstance(kind, str) or kind not in KINDS:
        return parameter(f"Param type must be one of {sorted(KINDS)} - got {kind!r}.")
    effect = rest.get("biz_opaque_callback_data")
    if effect is not None and not isinstance(effect, str):
        return parameter("Param biz_opaque_callback_data must be a string.")
    if rest.get("recipient_type", "individual") != "individual":
        return parameter("Param recipient_type must be one of {INDIVIDUAL}.")
    body = _body(kind, rest.get(kind), text_chars_max)
    if isinstance(body, Refusal):
        return body
    # A phone number wins where both are given; it may be written with +, blanks and hyphens.
    to = "".join(filter(str.isdecimal, said)) if rest.get("to") else said
    return Send(to=to, said=said, kind=kind, body=body, effect=effect)


def _body(kind: str, value: object, text_chars_max: int | None) -> str | Refusal:
    if kind == "contacts" and isinstance(value, list):
        return json.dumps(value)
    if not isinstance(value, dict):
        return missing(kind)
    if kind != "text":
        return json.dumps(value)
    text = value.get("body")
    if not isinstance(text, str) or not text:
        return missing("text['body']")
    if text_chars_max is not None and len(text) > text_chars_max:
        return invalid(f"Param text['body'] must be at most {text_chars_max} characters long.")
    return text
