"""What a reply is made of, and what a handler is told that asks for something that cannot be."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from procession.app.replies import ChannelReplies
from procession.app.seen import SeenDirectory
from procession.app.wiring import World, replies_of
from procession.core.effect import Receipt, Repeatability
from procession.core.errors import BadRequest
from procession.core.ids import ChannelName, TenantId
from procession.ports.connector import Whom
from procession.ports.directory import Setting
from tests.unit.app.scene import ACME, FIELDS, plan, scene

MAIN = ChannelName("shop")
BOB = Whom(lane_key="bob", now=datetime(2030, 1, 7, tzinfo=UTC))


async def _replies(channel: Mapping[str, Setting] = FIELDS) -> tuple[World, ChannelReplies]:
    world, desk = await scene()
    await desk.apply(plan(channel=channel), actor="anna")
    return world, replies_of(world)


async def test_a_text_says_whom_it_is_for_and_a_document_goes_as_it_is() -> None:
    _, replies = await _replies()

    text = replies.ask(ACME, MAIN, BOB, None, "hello")
    document = replies.ask(ACME, MAIN, BOB, None, {"any": [1, None]})

    assert (text.action, text.payload) == ("http", b'{"reply":"hello","to":"bob"}')
    assert (document.action, document.payload) == ("http", b'{"any":[1,null]}')


async def test_with_an_action_the_value_is_the_payload() -> None:
    _, replies = await _replies()

    assert replies.ask(ACME, MAIN, BOB, "http", b"\x00raw").payload == b"\x00raw"
    assert replies.ask(ACME, MAIN, BOB, "http", "text").payload == b'"text"'


async def test_the_terms_are_the_channels_own() -> None:
    _, replies = await _replies({**FIELDS, "gate": "sent", "tries_max": 3})

    terms = replies.ask(ACME, MAIN, BOB, None, "hello").terms

    assert (terms.repeatability, terms.gate.receipt, terms.tries_max) == (Repeatability.KEYED, Receipt.SENT, 3)


async def test_changed_terms_hold_from_the_next_reply_on() -> None:
    world, desk = await scene()
    await desk.apply(plan(), actor="anna")
    replies = replies_of(world)
    assert replies.ask(ACME, MAIN, BOB, None, "a").terms.doubt_wait == timedelta(seconds=60)

    await desk.apply(plan(channel={**FIELDS, "doubt_wait": 5}), actor="anna")

    assert replies.ask(ACME, MAIN, BOB, None, "a").terms.doubt_wait == timedelta(seconds=5)


@pytest.mark.parametrize(
    ("tenant", "channel", "action", "value", "says"),
    [
        ("acme", "nowhere", None, "x", "it has: shop"),
        ("other", "shop", None, "x", "it has none"),
        ("acme", "shop", "fax", "x", "a plain channel has: 'http'"),
        ("acme", "shop", None, float("nan"), "nan"),
        ("acme", "shop", None, {"a": object()}, "not JSON"),
        ("acme", "shop", "http", b"x" * (1024 * 1024 + 1), "bytes"),
    ],
)
async def test_what_cannot_be_sent_is_told_to_the_handler(
    tenant: str, channel: str, action: str | None, value: object, says: str
) -> None:
    _, replies = await _replies()

    with pytest.raises(BadRequest, match=says):
        replies.ask(TenantId(tenant), ChannelName(channel), BOB, action, value)


async def test_whatever_is_read_of_the_directory_is_known_to_replies() -> None:
    """An event of a new channel may be accepted before anybody else has looked at the directory."""
    world, desk = await scene()
    seen = SeenDirectory(world.open.directory)
    replies = ChannelReplies(seen, world.outbound)
    await desk.apply(plan(), actor="anna")
    with pytest.raises(BadRequest, match="it has none"):
        replies.ask(ACME, MAIN, BOB, None, "hello")

    await seen.snapshot()

    assert replies.ask(ACME, MAIN, BOB, None, "hello").action == "http"
