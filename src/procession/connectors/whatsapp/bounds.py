"""What Graph would refuse for its size or its lack: refused here, in the handler, where it can still be mended."""

from collections.abc import Mapping
from typing import Final

from procession.connectors.json_body import NotJson, read_json
from procession.connectors.pointer import value_at
from procession.connectors.whatsapp.actions import ACTIONS, HARMLESS
from procession.core.errors import BadRequest
from procession.core.limits import EFFECT_BYTES_MAX

TEXT_MAX: Final = 4096
CAPTION_MAX: Final = 1024
BUTTONS_MAX: Final = 3
ROWS_MAX: Final = 10
_TEXTS: Final[tuple[tuple[tuple[str, ...], int], ...]] = (
    (("text", "body"), TEXT_MAX),
    *(((kind, "caption"), CAPTION_MAX) for kind in ("image", "video", "document")),
    (("template", "name"), 512),
    (("interactive", "header", "text"), 60),
    (("interactive", "footer", "text"), 60),
    (("interactive", "action", "button"), 20),
    (("interactive", "action", "parameters", "display_text"), 20),
    (("location", "name"), 1000),
    (("location", "address"), 1000),
)
"""Where a text stands, and how many characters it may have."""
_BODY_MAX: Final[Mapping[str, int]] = {"list": 4096}
_BODY_MAX_ELSE: Final = 1024


def check_payload(action: str, payload: bytes) -> None:
    if action not in ACTIONS:
        raise BadRequest(f"a whatsapp channel has no action {action!r}; it has: {', '.join(ACTIONS)}")
    if len(payload) > EFFECT_BYTES_MAX:
        raise BadRequest(f"the payload has {len(payload)} bytes; at most {EFFECT_BYTES_MAX} can be sent")
    body = read_json(payload)
    if isinstance(body, NotJson) or not isinstance(body, dict):
        raise BadRequest("the payload is no JSON object")
    check_body(action, body)


def check_body(action: str, body: Mapping[str, object]) -> None:
    """Graph's own object, as it will be sent."""
    if body.get("messaging_product") != "whatsapp":
        raise BadRequest("the payload has no messaging_product: it was not shaped by this connector")
    if "biz_opaque_callback_data" in body:
        raise BadRequest("biz_opaque_callback_data is the effect's own id, and filled in when it is sent")
    if action in HARMLESS:
        _short("message_id", body.get("message_id"), 512)
        return
    if not isinstance(body.get("to"), str) and not isinstance(body.get("recipient"), str):
        raise BadRequest("it goes to nobody: neither 'to' nor 'recipient'")
    for path, most in _TEXTS:
        value = value_at(body, path)
        if value is not None:
            _short(".".join(path), value, most)
    interactive = body.get("interactive")
    if isinstance(interactive, dict):
        _check_interactive(interactive)
    _check_places(body)


def _check_interactive(interactive: Mapping[str, object]) -> None:
    kind = str(interactive.get("type"))
    _short("interactive.body", value_at(interactive, ("body", "text")), _BODY_MAX.get(kind, _BODY_MAX_ELSE))
    buttons = value_at(interactive, ("action", "buttons"))
    if isinstance(buttons, list):
        _check_buttons(buttons)
    sections = value_at(interactive, ("action", "sections"))
    if kind == "list" and isinstance(sections, list):
        _check_sections(sections)


def _check_buttons(buttons: list[object]) -> None:
    if not 1 <= len(buttons) <= BUTTONS_MAX:
        raise BadRequest(f"{len(buttons)} buttons: WhatsApp shows one to {BUTTONS_MAX}; a 'list' holds {ROWS_MAX} rows")
    for button in buttons:
        _short("a button's id", value_at(button, ("reply", "id")), 256)
        _short("a button's title", value_at(button, ("reply", "title")), 20)
    _check_different("button", [value_at(button, ("reply", "id")) for button in buttons])


def _check_sections(sections: list[object]) -> None:
    rows: list[object] = []
    for section in sections:
        own = value_at(section, ("rows",))
        if not isinstance(own, list) or not own:
            raise BadRequest("a section of a list has no rows")
        rows.extend(own)
        title = value_at(section, ("title",))
        if title is not None or len(sections) > 1:
            _short("a section's title", title, 24)
    if len(rows) > ROWS_MAX:
        raise BadRequest(f"{len(rows)} rows: a list of WhatsApp's holds {ROWS_MAX}, over all its sections")
    for row in rows:
        _short("a row's id", value_at(row, ("id",)), 200)
        _short("a row's title", value_at(row, ("title",)), 24)
        if value_at(row, ("description",)) is not None:
            _short("a row's description", value_at(row, ("description",)), 72)
    _check_different("row", [value_at(row, ("id",)) for row in rows])


def _check_places(body: Mapping[str, object]) -> None:
    location = body.get("location")
    if isinstance(location, dict):
        for name, most in (("latitude", 90), ("longitude", 180)):
            value = location.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not -most <= value <= most:
                raise BadRequest(f"{name} is a number of degrees, from -{most} to {most}")
    reaction = body.get("reaction")
    if isinstance(reaction, dict):
        _short("reaction.message_id", reaction.get("message_id"), 512)
        if not isinstance(reaction.get("emoji"), str):
            raise BadRequest('emoji is one emoji, or "" to take the reaction back')


def _check_different(what: str, ids: list[object]) -> None:
    if len({str(own) for own in ids}) < len(ids):
        raise BadRequest(f"two have the same {what} id: nobody could tell which was chosen")


def _short(what: str, value: object, most: int) -> None:
    if not isinstance(value, str) or not value.strip():
        raise BadRequest(f"{what} has to be a text with something in it")
    if len(value) > most:
        hint = f"; split_text(…, {most}) makes parts of it" if what == "text.body" else ""
        raise BadRequest(f"{what} has {len(value):,} characters; WhatsApp takes at most {most:,}{hint}")
