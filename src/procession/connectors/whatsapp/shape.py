"""What a handler asks for, made ready for Graph: the body, its recipient, and whether it may be sent at all now."""

from collections.abc import Mapping

from procession.connectors.json_body import NotJson, read_json
from procession.connectors.whatsapp.actions import HARMLESS, RAW, WINDOW, needs_window
from procession.connectors.whatsapp.arrivals import ACCOUNT_LANE
from procession.connectors.whatsapp.bodies import body_of, chosen
from procession.connectors.whatsapp.bounds import check_body
from procession.connectors.whatsapp.names import GROUP, is_group, is_phone, key_as_name, rank
from procession.connectors.whatsapp.perform import TOKEN
from procession.connectors.whatsapp.settings import is_id
from procession.core.errors import BadRequest
from procession.ports.connector import Shaped, Whom
from procession.ports.directory import Channel


def shape_effect(channel: Channel, whom: Whom, action: str | None, value: object) -> Shaped:
    check_channel(channel)
    if isinstance(value, bytes):
        value = _document(value)
    if action is None:
        action, value = chosen(value)
    body = body_of(action, value)
    if action in HARMLESS:
        shaped: dict[str, object] = {"messaging_product": "whatsapp", **body}
        check_body(action, shaped)
        return Shaped(action=action, value=shaped)
    if needs_window(action) or (action == RAW and _is_free(body)):
        _check_window(whom)
    name = recipient_of(whom)
    shaped = {"messaging_product": "whatsapp", **_recipient(name), **body}
    check_body(action, shaped)
    return Shaped(action=action, value=shaped, aliases=() if whom.is_known else (name,))


def check_channel(channel: Channel) -> None:
    """What a channel needs for sending, as far as it can be seen without opening a secret."""
    if not is_id(channel.account):
        raise BadRequest(
            f'channel {channel.name!r} has no account to send from: write account = "…", the id of its phone number '
            "at Meta (digits, not the number itself)"
        )
    if TOKEN not in channel.secrets:
        raise BadRequest(
            f'channel {channel.name!r} has no token to send with: write {TOKEN} = {{ env = "…" }}, '
            "a system user's token with the permission whatsapp_business_messaging"
        )


def recipient_of(whom: Whom) -> str:
    """The name by which somebody is best written to: a group's, the newest phone number, the newest id."""
    # Sorting keeps the order of what is equal, and the newest stands first.
    for name in sorted(whom.aliases, key=lambda name: -1 if is_group(name) else rank(name)):
        if key_as_name(name) is not None:
            return name
    name_of_key = key_as_name(whom.lane_key)
    if name_of_key is not None:
        return name_of_key
    if whom.lane_key == ACCOUNT_LANE:
        raise BadRequest("this lane is the account's own, and nobody's conversation: say to whom, to=\"+49171…\"")
    raise BadRequest("WhatsApp reaches a phone number (+49171…), a business-scoped id (DE.…) or a group (group:…)")


def _recipient(name: str) -> Mapping[str, object]:
    if is_group(name):
        return {"recipient_type": "group", "to": name.removeprefix(GROUP)}
    if is_phone(name):
        # With the plus: without it Graph takes the sender's country for the receiver's.
        return {"recipient_type": "individual", "to": f"+{name}"}
    return {"recipient_type": "individual", "recipient": name}


def _is_free(raw: Mapping[str, object]) -> bool:
    """Free-form, and not by Direct Send, which names a category and needs no window."""
    return raw.get("type") != "template" and "category" not in raw


def _check_window(whom: Whom) -> None:
    """A conversation that is only known by a key is left to the store, which knows when it was last heard from."""
    if not whom.is_known:
        return
    instead = 'outside of it WhatsApp takes templates only: turn.template(…), or the action "template"'
    if whom.heard_at is None:
        raise BadRequest(f"this person has not written yet, so that no 24-hour window is open; {instead}")
    if whom.now - whom.heard_at > WINDOW:
        since = whom.heard_at + WINDOW
        raise BadRequest(f"the 24-hour window is closed since {since:%Y-%m-%d %H:%M} UTC; {instead}")


def _document(value: bytes) -> object:
    read = read_json(value)
    if isinstance(read, NotJson):
        raise BadRequest(f"the value is {read.reason}")
    return read
