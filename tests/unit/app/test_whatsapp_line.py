"""A WhatsApp platform as it is declared: applied, shaken hands with, delivered to, and replied through."""

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from procession.app.declared import Sources, read_declared
from procession.app.desk import Desk
from procession.app.wiring import World, desk_of, replies_of
from procession.core.errors import BadRequest, Misconfigured
from procession.core.ids import ChannelName, TenantId
from procession.ingress.asgi import IngressApp
from procession.ingress.doors import Doors
from procession.ingress.receive import Receiver
from procession.ports.connector import Delivery, Whom
from procession.testing.stand_ins import ManualClock
from tests.unit.app.scene import world_in_memory
from tests.unit.connectors.whatsapp.meta import NOW, NUMBER, PHONE, message, of_messages, signed

TOKEN = "a-token-that-somebody-has-typed"
PLATFORM = f"""
[[tenant]]
name = "bistro"

[[endpoint]]
name = "meta"
connector = "whatsapp"
app_secret = [{{ env = "OLD_APP_SECRET" }}, {{ env = "APP_SECRET" }}]
verify_token = {{ env = "VERIFY_TOKEN" }}

[[channel]]
tenant = "bistro"
name = "main"
endpoint = "meta"
account = "{NUMBER}"
token = {{ env = "TOKEN" }}
waba = "102290129340398"
gate_wait = 3
"""
ENVIRONMENT = {
    "OLD_APP_SECRET": "an older app secret, 32 bytes ...",
    "APP_SECRET": "an app secret of Meta's, 32 bytes",
    "VERIFY_TOKEN": TOKEN,
    "TOKEN": "EAAG-a-system-users-token",
}


@dataclass(slots=True, kw_only=True)
class Line:
    world: World
    desk: Desk
    doors: Doors
    app: IngressApp

    async def applied(self, text: str = PLATFORM) -> "Line":
        sources = Sources(folder=Path(), environment=ENVIRONMENT, stdin=lambda: b"")
        await self.desk.apply(read_declared(text, sources), actor="anna")
        await self.doors.refresh()
        return self

    async def ask(self, delivery: Delivery) -> tuple[int, dict[bytes, bytes], bytes]:
        sent: list[dict[str, object]] = []
        scope: dict[str, object] = {
            "type": "http",
            "method": delivery.method,
            "path": delivery.path,
            "query_string": delivery.query.encode("latin-1"),
            "headers": [(name.encode("latin-1"), said.encode("latin-1")) for name, said in delivery.headers],
        }

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": delivery.body}

        async def send(event: object) -> None:
            assert isinstance(event, dict)
            sent.append(event)

        await self.app(scope, receive, send)
        status, headers, body = sent[0]["status"], sent[0]["headers"], sent[1]["body"]
        assert isinstance(status, int)
        assert isinstance(headers, list)
        assert isinstance(body, bytes)
        return status, dict(headers), body

    async def shake(
        self, token: str = TOKEN, challenge: str = "1158201444", mode: str = "subscribe"
    ) -> tuple[int, bytes]:
        query = urlencode({"hub.mode": mode, "hub.challenge": challenge, "hub.verify_token": token})
        asked = Delivery(method="GET", path="/hooks/meta", query=query, headers=(), body=b"", received_at=NOW)
        status, headers, body = await self.ask(asked)
        assert headers[b"content-type"].startswith(b"text/plain")
        assert headers[b"x-content-type-options"] == b"nosniff"
        return status, body


async def line() -> Line:
    world = await world_in_memory()
    doors = Doors(world.open.directory, world.vault, world.inbound, world.telemetry)
    receiver = Receiver(store=world.open.store, doors=doors, bell=world.bell, telemetry=world.telemetry)
    return Line(world=world, desk=desk_of(world), doors=doors, app=IngressApp(receiver, ManualClock(NOW)))


async def test_meta_is_told_that_the_url_is_ours() -> None:
    there = await (await line()).applied()

    assert await there.shake() == (200, b"1158201444")
    assert (await there.shake(token="guessed"))[0] == 403
    assert (await there.shake(challenge="<script>"))[0] == 403
    assert (await there.shake(mode="other"))[0] == 404


async def test_a_signed_message_is_kept_in_the_persons_lane_and_an_unsigned_one_refused() -> None:
    there = await (await line()).applied()

    kept = await there.ask(signed(of_messages(message()), ENVIRONMENT["OLD_APP_SECRET"].encode()))
    again = await there.ask(signed(of_messages(message())))
    refused = await there.ask(signed(of_messages(message(wamid="wamid.B")), b"an app secret of somebody else's"))

    assert (kept[0], again[0], refused[0]) == (200, 200, 401)
    (view,) = await there.desk.why("wamid.A")
    assert (view.tenant, view.kind, view.lane_key, view.seq) == ("bistro", "whatsapp.text", PHONE, 1)
    assert await there.desk.why("wamid.B") == ()


async def test_a_message_of_a_number_that_is_added_later_is_routed_then() -> None:
    there = await (await line()).applied()
    await there.ask(signed(of_messages(message(), number="777")))
    (kept,) = await there.desk.quarantine()
    added = PLATFORM + '[[channel]]\ntenant = "bistro"\nname = "second"\nendpoint = "meta"\naccount = "777"\n'
    await there.applied(added)

    (event,) = await there.desk.quarantine_route(kept.id, actor="anna")

    (view,) = await there.desk.why(event)
    assert (view.channel, view.provider_id) == ("second", "wamid.A")


async def test_a_reply_takes_the_channels_own_terms() -> None:
    there = await (await line()).applied()
    whom = Whom(lane_key=PHONE, aliases=(PHONE,), heard_at=NOW, now=NOW)

    asked = replies_of(there.world).ask(TenantId("bistro"), ChannelName("main"), whom, None, "hello")

    assert (asked.action, asked.terms.gate.wait_max.total_seconds()) == ("text", 3)
    assert json.loads(asked.payload)["to"] == f"+{PHONE}"


async def test_a_reply_that_cannot_be_sent_is_refused_in_the_handler() -> None:
    there = await (await line()).applied()
    whom = Whom(lane_key=PHONE, aliases=(PHONE,), heard_at=NOW, now=NOW)
    replies = replies_of(there.world)

    with pytest.raises(BadRequest, match="split_text"):
        replies.ask(TenantId("bistro"), ChannelName("main"), whom, None, "x" * 5000)
    with pytest.raises(BadRequest, match="has no action 'http'; a whatsapp channel has: 'text'"):
        replies.ask(TenantId("bistro"), ChannelName("main"), whom, "http", {})


async def test_a_misspelt_setting_is_refused_before_anything_is_written() -> None:
    there = await line()

    with pytest.raises(Misconfigured, match="did you mean 'waba'"):
        await there.applied(PLATFORM.replace("waba =", "wabba ="))
    with pytest.raises(Misconfigured, match="have the same account"):
        await there.applied(PLATFORM + f'[[channel]]\ntenant = "bistro"\nendpoint = "meta"\naccount = "{NUMBER}"\n')
