"""From what a handler writes to what Graph takes: `{"buttons": {"body": "When?", "buttons": ["Today", "Tomorrow"]}}`.

Every value is a dict of an action's own fields. Three may be shorter: a text is its text, media from a URL is the URL,
read and typing are the id of the message. `reply_to` quotes a message, in all but reactions.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from procession.connectors.whatsapp.actions import ACTIONS, HARMLESS, MEDIA, RAW, REACTION, TEMPLATE, TYPING
from procession.core.errors import BadRequest

Fields = dict[str, object]
_QUOTE: Final = "reply_to"


def body_of(action: str, value: object) -> Fields:
    """Graph's object without a recipient. `BadRequest`, if it lacks something or has something that nobody knows."""
    if action in HARMLESS:
        return _mark(action, value)
    if action == RAW:
        return _raw(value)
    fields = _fields(action, value)
    quoted = fields.pop(_QUOTE, None) if action != REACTION else None
    kind, content = _BUILDERS[action](action, fields)
    body: Fields = {"type": kind, kind: content}
    return body if quoted is None else {**body, "context": {"message_id": quoted}}


def chosen(value: object) -> tuple[str, object]:
    """What a handler replies with, as an action and its value."""
    if isinstance(value, str):
        return "text", value
    if isinstance(value, dict) and len(value) == 1:
        ((action, inner),) = value.items()
        if action in ACTIONS:
            return str(action), inner
    known = ", ".join(ACTIONS)
    raise BadRequest(f'a reply on WhatsApp is a text, or one action with its value, {{"image": …}}; there are: {known}')


def _mark(action: str, value: object) -> Fields:
    wamid = value.get("message_id") if isinstance(value, dict) else value
    if not isinstance(wamid, str) or not wamid:
        raise BadRequest(f"{action!r} needs the id of a message that came in: turn.event.provider_id")
    body: Fields = {"status": "read", "message_id": wamid}
    return {**body, "typing_indicator": {"type": "text"}} if action == TYPING else body


def _raw(value: object) -> Fields:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise BadRequest('a raw value is an object of Graph\'s, {"type": "text", "text": {"body": "…"}}')
    own = {"messaging_product", "recipient_type", "to", "recipient", "biz_opaque_callback_data"} & value.keys()
    if own:
        raise BadRequest(f"a raw value has no {min(own)!r}: it is filled in here; say whom by to=")
    return dict(value)


def _fields(action: str, value: object) -> Fields:
    if isinstance(value, str) and action == "text":
        return {"body": value}
    if isinstance(value, str) and action in MEDIA:
        return {"link": value} if value.startswith(("https://", "http://")) else {"id": value}
    if action == "contacts" and isinstance(value, list | tuple):
        return {"contacts": value}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise BadRequest(f"{action!r} takes a dict, not a {type(value).__name__}")


# --- one action each ---


def _text(action: str, fields: Fields) -> tuple[str, object]:
    return "text", _picked(action, fields, ("body",), ("preview_url",))


def _template(action: str, fields: Fields) -> tuple[str, object]:
    content = _picked(action, fields, ("name", "language"), ("components",))
    language = content["language"]
    return "template", {**content, "language": {"code": language} if isinstance(language, str) else language}


def _media(action: str, fields: Fields) -> tuple[str, object]:
    also = {"image": ("caption",), "video": ("caption",), "document": ("caption", "filename"), "audio": ("voice",)}
    content = _picked(action, fields, (), ("id", "link", *also.get(action, ())))
    if ("id" in content) == ("link" in content):
        raise BadRequest(f"{action!r} needs either 'link' (a public URL) or 'id' (of media that was uploaded to Meta)")
    return action, content


def _buttons(action: str, fields: Fields) -> tuple[str, object]:
    said = _picked(action, fields, ("body", "buttons"), ("header", "footer"))
    buttons = [_button(button) for button in _list(action, "buttons", said["buttons"])]
    return "interactive", _interactive("button", said, {"buttons": buttons})


def _button(button: object) -> object:
    own = {"id": button, "title": button} if isinstance(button, str) else button
    if not isinstance(own, dict):
        raise BadRequest('a button is a text, or {"id": "…", "title": "…"}')
    return {"type": "reply", "reply": _picked("a button", dict(own), ("id", "title"), ())}


def _options(action: str, fields: Fields) -> tuple[str, object]:
    said = _picked(action, fields, ("body", "button"), ("sections", "rows", "header", "footer"))
    if ("sections" in said) == ("rows" in said):
        raise BadRequest("'list' needs either 'rows', or 'sections', each with a title and rows")
    sections = _list(action, "sections", said["sections"]) if "sections" in said else [{"rows": said["rows"]}]
    return "interactive", _interactive("list", said, {"button": said["button"], "sections": list(sections)})


def _link(action: str, fields: Fields) -> tuple[str, object]:
    said = _picked(action, fields, ("body", "text", "url"), ("header", "footer"))
    parameters = {"display_text": said["text"], "url": said["url"]}
    return "interactive", _interactive("cta_url", said, {"name": "cta_url", "parameters": parameters})


def _reaction(action: str, fields: Fields) -> tuple[str, object]:
    return "reaction", _picked(action, fields, ("message_id", "emoji"), ())


def _location(action: str, fields: Fields) -> tuple[str, object]:
    return "location", _picked(action, fields, ("latitude", "longitude"), ("name", "address"))


def _contacts(action: str, fields: Fields) -> tuple[str, object]:
    return "contacts", list(_list(action, "contacts", _picked(action, fields, ("contacts",), ())["contacts"]))


_BUILDERS: Final[Mapping[str, Callable[[str, Fields], tuple[str, object]]]] = {
    "text": _text,
    TEMPLATE: _template,
    **dict.fromkeys(MEDIA, _media),
    "buttons": _buttons,
    "list": _options,
    "cta_url": _link,
    REACTION: _reaction,
    "location": _location,
    "contacts": _contacts,
}


def _interactive(kind: str, said: Fields, action: Fields) -> Fields:
    body: Fields = {"type": kind, "body": {"text": said["body"]}, "action": action}
    header = said.get("header")
    if header is not None:
        body["header"] = {"type": "text", "text": header} if isinstance(header, str) else header
    if said.get("footer") is not None:
        body["footer"] = {"text": said["footer"]}
    return body


def _picked(action: str, fields: Fields, needed: Sequence[str], also: Sequence[str]) -> Fields:
    for name in needed:
        if fields.get(name) is None:
            raise BadRequest(f"{action!r} needs {name!r}")
    for name in fields:
        if name not in needed and name not in also:
            near = get_close_matches(name, [*needed, *also], n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise BadRequest(f"{action!r} has no {name!r}{hint}; it has: {', '.join([*needed, *also])}")
    return {name: value for name, value in fields.items() if value is not None}


def _list(action: str, name: str, value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple) or not value:
        raise BadRequest(f"{action!r}: {name} is a list with something in it")
    return value
