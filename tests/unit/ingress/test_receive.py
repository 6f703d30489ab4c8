"""What ingress answers, and what is in the store then."""

from dataclasses import replace
from datetime import timedelta

import pytest

from procession.core.errors import BadRequest, OutcomeUnknown, StoreAway, StoreError, StoreFull
from procession.core.event import Acceptance, Intake
from procession.core.ids import EndpointName, TenantId
from procession.core.limits import BODY_BYTES_MAX, REDELIVERY_AGE_MAX
from procession.ports.connector import Delivery, Parsed
from procession.ports.directory import CollectRule, Tenant
from procession.ports.vault import SecretName
from procession.storage.memory import MemoryStore
from procession.testing.stand_ins import ManualClock
from procession.vault import WrongKey
from tests.unit.connectors.deliveries import NOW, SECRET, channel, delivery, signed
from tests.unit.ingress.desk import Desk

BODY = b'{"id": "e1", "lane": "a", "kind": "k"}'


async def test_a_signed_delivery_is_in_the_store_when_it_is_answered() -> None:
    desk = await Desk().open()

    answer = await desk.post(signed(BODY))

    assert answer.status == 200
    (view,) = await desk.memory.console.why("e1")
    assert (view.tenant, view.lane_key, view.seq) == ("acme", "a", 1)


async def test_a_redelivery_is_answered_the_same_and_changes_nothing() -> None:
    desk = await Desk().open()

    answers = [await desk.post(signed(BODY)) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 200]
    assert (await desk.memory.console.counts()).accepted == 1
    assert desk.notebook.counts["ingress.duplicates"] == 2


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(delivery(BODY), 401, id="unsigned"),
        pytest.param(signed(BODY, b"a wrong secret of enough bytes .."), 401, id="wrong secret"),
        pytest.param(signed(BODY, b""), 401, id="empty secret"),
        pytest.param(signed(BODY, content_type="text/plain"), 415, id="text"),
        pytest.param(signed(BODY, content_type="multipart/form-data; boundary=x"), 415, id="multipart"),
        pytest.param(signed(BODY, content_encoding="gzip"), 415, id="gzip"),
        pytest.param(signed(b"x" * (BODY_BYTES_MAX + 1)), 413, id="huge"),
    ],
)
async def test_what_is_refused_leaves_no_row(sent: Delivery, status: int) -> None:
    desk = await Desk().open()

    answer = await desk.post(sent)

    assert answer.status == status
    counts = await desk.memory.console.counts()
    assert (counts.accepted, counts.quarantined) == (0, 0)
    assert SECRET not in answer.body


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"not json", id="not JSON"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[" * (2 * 1024 * 1024), id="2 MB of brackets"),
        pytest.param(b'{"id":"a\\u0000","lane":"a","kind":"k"}', id="NUL"),
        pytest.param(b'{"id":"\\ud800","lane":"a","kind":"k"}', id="lone surrogate"),
        pytest.param(b'{"id":NaN,"lane":"a","kind":"k"}', id="NaN"),
        pytest.param(b'{"id":' + b"1" * 5000 + b',"lane":"a","kind":"k"}', id="5,000 digits"),
        pytest.param(b'{"id":1,"id":2,"lane":"a","kind":"k"}', id="duplicate keys"),
        pytest.param(b'{"id":1e999999,"lane":"a","kind":"k"}', id="huge exponent"),
        pytest.param(b"\x1f\x8b\x08\x00" + b"\x00" * 64, id="gzip bytes, not declared"),
        pytest.param('{"id":1}'.encode("utf-16"), id="UTF-16"),
        pytest.param(b"\xef\xbb\xbf" + BODY, id="byte order mark"),
        pytest.param(b'{"id":1,"kind":"k"}', id="no lane"),
        pytest.param(b'{"files":{"x":{"filepath":"/etc/passwd"}}}', id="file shape"),
    ],
)
async def test_what_is_signed_but_cannot_be_used_is_kept_whole_and_answered_200(body: bytes) -> None:
    desk = await Desk().open()

    answers = [await desk.post(signed(body)) for _ in range(2)]

    assert [answer.status for answer in answers] == [200, 200]
    (kept,) = await desk.memory.console.quarantine()
    shown = await desk.memory.console.quarantine_show(kept.id, actor="tester")
    assert shown.body == body
    assert not any("sha256=" in value for _, value in shown.headers)


async def test_a_handler_for_every_kind_of_payload_text_survives_the_store() -> None:
    text = "emoji \U0001f600, combining e\u0301, right-to-left \u202e, \\u0000 as text"
    desk = await Desk().open()
    body = f'{{"id":"e1","lane":"a","kind":"k","text":"{text}"}}'.encode()

    assert (await desk.post(signed(body))).status == 200
    assert (await desk.memory.console.counts()).accepted == 1


class FailingStore(MemoryStore):
    """Accept fails in one way."""

    def __init__(self, error: StoreError) -> None:
        super().__init__(clock=ManualClock())
        self.error = error

    async def accept(self, intake: Intake) -> Acceptance:
        del intake
        raise self.error


@pytest.mark.parametrize("error", [StoreAway("away"), StoreFull("full"), OutcomeUnknown("cut")])
async def test_what_is_not_known_to_be_kept_is_answered_503_with_retry_after(error: StoreError) -> None:
    desk = await Desk(FailingStore(error)).open()

    answer = await desk.post(signed(BODY))

    assert answer.status == 503
    assert int(answer.headers[b"retry-after"]) > 0


async def test_a_connector_that_breaks_costs_no_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await Desk().open()

    def broken(*_: object) -> Parsed:
        raise RuntimeError("a bug, with the body's content in it")

    door = desk.doors.find("shop")
    assert door is not None
    monkeypatch.setattr(door.connector, "parse", broken)

    assert (await desk.post(signed(BODY))).status == 200
    (kept,) = await desk.memory.console.quarantine()
    assert kept.reason == "the connector failed: RuntimeError"


async def test_an_endpoint_without_its_secret_refuses_everything() -> None:
    desk = Desk()
    desk.vault.plain = None
    await desk.open()

    assert (await desk.post(signed(BODY))).status == 401


async def test_paths_methods_and_health() -> None:
    closed = Desk()
    assert (await closed.post(signed(BODY), "/health")).status == 503
    assert (await closed.post(signed(BODY))).status == 503

    desk = await closed.open()
    assert (await desk.post(signed(BODY), "/health")).status == 200
    assert (await desk.post(signed(BODY), "/hooks/nobody")).status == 404
    assert (await desk.post(signed(BODY), "/hooks/shop/../shop")).status == 404
    assert (await desk.post(signed(BODY), "/")).status == 404


async def test_an_inactive_tenants_delivery_is_kept_for_later() -> None:
    desk = Desk()
    await desk.open(tenants={TenantId("acme"): Tenant(id=TenantId("acme"), active=False)})

    assert (await desk.post(signed(BODY))).status == 200
    (kept,) = await desk.memory.console.quarantine()
    assert kept.reason == "tenant acme is not active"


async def test_an_event_older_than_the_memory_of_ids_is_kept_aside() -> None:
    desk = Desk()
    await desk.open(channels={(channel().tenant, channel().name): channel(time="/at")})
    edge = int((NOW - REDELIVERY_AGE_MAX).timestamp())

    for number, at in enumerate((edge + 1, edge - 1)):
        body = f'{{"id":"e{number}","lane":"a","kind":"k","at":{at}}}'.encode()
        assert (await desk.post(signed(body))).status == 200

    counts = await desk.memory.console.counts()
    assert (counts.accepted, counts.quarantined) == (1, 1)


async def test_events_of_a_collecting_kind_wait_for_their_window_and_flush_words_end_it() -> None:
    rule = CollectRule(
        kinds=("chat.*",),
        quiet=timedelta(seconds=3),
        wait_max=timedelta(seconds=9),
        events_max=10,
        flush_words=("Go",),
    )
    desk = Desk()
    await desk.open(rule, channels={(channel().tenant, channel().name): channel(text="/text")})

    async def phase_after(number: int, text: str) -> str:
        body = f'{{"id":{number},"lane":"a","kind":"chat.text","text":"{text}"}}'.encode()
        await desk.post(signed(body))
        (view,) = await desk.memory.console.lanes()
        return view.phase

    assert await phase_after(1, "hello") == "waiting"
    assert await phase_after(2, " go ") == "ready"


async def test_a_secret_that_does_not_open_is_the_trouble_of_its_own_endpoint_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk()
    good = desk.snapshot.endpoints[EndpointName("shop")]
    damaged = replace(good, name=EndpointName("damaged"), signing=(SecretName("endpoint/damaged/signing/0"),))
    opened = desk.vault.open

    async def selective(tenant: TenantId, name: SecretName) -> bytes:
        if "damaged" in name:
            raise WrongKey("this was changed")
        return await opened(tenant, name)

    monkeypatch.setattr(desk.vault, "open", selective)
    await desk.open(endpoints={damaged.name: damaged, good.name: good})

    assert (await desk.post(signed(BODY))).status == 200
    assert (await desk.post(signed(BODY), path="/hooks/damaged")).status == 401


async def test_what_no_store_can_hold_is_kept_aside_whole() -> None:
    class Picky(MemoryStore):
        async def accept(self, intake: Intake) -> Acceptance:
            if intake.events:
                raise BadRequest("this cannot be stored")
            return await super().accept(intake)

    store = Picky(clock=ManualClock(NOW))
    desk = await Desk(store).open()

    answer = await desk.post(signed(BODY))

    assert answer.status == 200
    (kept,) = await store.console.quarantine()
    assert (await store.console.quarantine_show(kept.id, actor="tester")).body == BODY


async def test_a_key_that_opens_nothing_is_not_served_with(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()

    async def shut(tenant: TenantId, name: SecretName) -> bytes:
        raise WrongKey(f"{name} of {tenant} was sealed under another key")

    monkeypatch.setattr(desk.vault, "open", shut)

    with pytest.raises(WrongKey):
        await desk.open()
