"""What Graph's answer makes of an effect: its code decides, and what may have been taken is never simply sent again."""

import json
from datetime import timedelta

import pytest

from procession.connectors.whatsapp.codes import CODES, Says
from procession.core.effect import Receipt
from procession.core.verdict import Confirmed, Deferred, Halted, Refused, Scope, Uncertain, Verdict
from procession.ports.connector import Call
from procession.ports.directory import Channel
from procession.ports.wire import Answered, Doubt, NotSent, Unclear, Unsent
from tests.unit.connectors.whatsapp.graph import OWN_ID, READ, TAKEN, TOKEN, SaidWire, call, fault, said, verdict_of
from tests.unit.connectors.whatsapp.meta import CONNECTOR, NUMBER, PHONE, channel

TENANT, CHANNEL, CONVERSATION = Scope.TENANT, Scope.CHANNEL, Scope.CONVERSATION


async def test_the_call_goes_to_the_numbers_own_path_with_the_token_and_our_id() -> None:
    wire = SaidWire(said(TAKEN))

    found = await CONNECTOR.perform(call(), wire)

    assert found == Confirmed(ref="wamid.B", receipt=Receipt.ACCEPTED)
    (request,) = wire.requests
    assert (request.method, request.url) == ("POST", f"https://graph.facebook.com/v25.0/{NUMBER}/messages")
    assert dict(request.headers)["authorization"] == f"Bearer {TOKEN.decode()}"
    sent = json.loads(request.body)
    assert sent["biz_opaque_callback_data"] == OWN_ID
    assert sent["text"] == {"body": "hello"}


async def test_the_channel_says_where_graph_is_and_how_long_it_may_take() -> None:
    wire = SaidWire(said(TAKEN))
    through = channel(api_url="https://proxy.example/graph/", version="v99.1", timeout=3)

    await CONNECTOR.perform(call(through=through), wire)

    assert wire.requests[0].url == f"https://proxy.example/graph/v99.1/{NUMBER}/messages"
    assert wire.requests[0].deadline == timedelta(seconds=3)


@pytest.mark.parametrize("action", ["read", "typing"])
async def test_a_mark_carries_no_id_of_ours_and_its_success_has_none(action: str) -> None:
    wire = SaidWire(said({"success": True}))

    found = await CONNECTOR.perform(call(action, READ), wire)

    assert found == Confirmed()
    assert json.loads(wire.requests[0].body) == READ


# --- codes ---

IN_DOUBT = (1, 2, 131016, 133004, 131000)
STOPS_TENANT = (0, 190, 3, 10, 200, 230, 299, 131005, 368, 131031, 131042)
STOPS_NUMBER = (131037, 131045, 131048, 133000, 133005, 133006, 133008, 133009, 133010, 133015, 133016)
NEVER = (
    *(131047, 131049, 131050, 130472, 131026, 131021, 131030, 100, 33, 131008, 131009, 131051, 135000, 131052),
    *(131053, 131062, 131063, 131064, 132000, 132001, 132005, 132007, 132008, 132012, 132015, 132016, 132068),
    *(132069, 137000, 130497, 2388019),
)
WAITS = ((130429, CHANNEL), (131057, CHANNEL), (2494100, CHANNEL), (4, TENANT), (80007, TENANT))


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500, 503])
@pytest.mark.parametrize("code", IN_DOUBT)
async def test_a_code_by_which_it_may_have_been_taken_leaves_it_in_doubt(code: int, status: int) -> None:
    assert isinstance(await verdict_of(fault(code, status)), Uncertain)


@pytest.mark.parametrize("status", [400, 401, 500])
@pytest.mark.parametrize("code", STOPS_TENANT)
async def test_a_dead_token_or_account_stops_the_tenant_and_burns_no_tries(code: int, status: int) -> None:
    found = await verdict_of(fault(code, status))

    assert isinstance(found, Halted)
    assert (found.scope, found.code) == (TENANT, str(code))


@pytest.mark.parametrize("code", STOPS_NUMBER)
async def test_a_number_that_is_not_set_up_stops_itself_only(code: int) -> None:
    found = await verdict_of(fault(code))

    assert isinstance(found, Halted)
    assert (found.scope, found.code) == (CHANNEL, str(code))


@pytest.mark.parametrize("status", [400, 404, 500])
@pytest.mark.parametrize("code", NEVER)
async def test_what_no_further_try_would_mend_is_refused_with_its_code(code: int, status: int) -> None:
    found = await verdict_of(fault(code, status))

    assert isinstance(found, Refused)
    assert found.code == str(code)


@pytest.mark.parametrize(("code", "scope"), WAITS)
async def test_a_limit_holds_back_whatever_shares_it(code: int, scope: Scope) -> None:
    found = await verdict_of(fault(code))

    assert isinstance(found, Deferred)
    assert (found.scope, found.counts) == (scope, False)
    assert found.after >= (timedelta(minutes=1) if code != 130429 else timedelta(seconds=1))


@pytest.mark.parametrize(("attempt", "seconds"), [(0, 1), (1, 1), (2, 4), (3, 16), (4, 64), (5, 256), (99, 1024)])
async def test_too_many_to_one_person_wait_four_to_the_power_of_the_tries(attempt: int, seconds: int) -> None:
    found = await verdict_of(fault(131056), call(attempt=attempt))

    assert isinstance(found, Deferred)
    assert (found.after, found.scope, found.counts) == (timedelta(seconds=seconds), CONVERSATION, False)


def test_every_code_of_the_table_is_shown_above() -> None:
    shown = {*IN_DOUBT, *STOPS_TENANT, *STOPS_NUMBER, *NEVER, *(code for code, _ in WAITS), 131056}

    assert set(CODES) == shown | set(range(200, 300))
    assert {CODES[code].says for code in shown} == set(Says)
    assert all(code.words and code.words.isprintable() for code in CODES.values())


# --- without a code ---

GARBLED = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b"<html>",
    b"\xff",
    b"[" * 90_000,
    b'{"error": null}',
    b'{"error": {"code": "1"}}',
]


@pytest.mark.parametrize("status", [200, 201, 301, 400, 401, 403, 404, 429, 500, 502, 503])
@pytest.mark.parametrize("raw", GARBLED)
async def test_without_a_code_or_an_id_no_status_decides(status: int, raw: bytes) -> None:
    assert isinstance(await verdict_of(Answered(status=status, body=raw)), Uncertain)


@pytest.mark.parametrize(
    "content",
    [
        {"messages": []},
        {"messages": [{}]},
        {"messages": [{"id": ""}]},
        {"messages": [{"id": 7}]},
        {"messages": [{"id": "w" * 513}]},
        {"messages": {"id": "wamid.B"}},
        {"messages": ["wamid.B"]},
        {"success": True},
        {**TAKEN, "error": {"code": None}},
    ],
)
async def test_a_success_without_an_id_is_no_success(content: object) -> None:
    assert isinstance(await verdict_of(said(content)), Uncertain)


async def test_an_id_under_an_error_of_the_server_proves_nothing() -> None:
    assert isinstance(await verdict_of(said(TAKEN, 500)), Uncertain)


async def test_an_unknown_code_of_graphs_own_is_a_refusal_when_it_blames_the_request() -> None:
    found = await verdict_of(fault(999_999, 400))

    assert isinstance(found, Refused)
    assert found.code == "999999"


@pytest.mark.parametrize("answer", [fault(999_999, 500), fault(999_999, 200), fault(999_999, 400, is_transient=True)])
async def test_an_unknown_code_is_in_doubt_when_it_does_not(answer: Answered) -> None:
    assert isinstance(await verdict_of(answer), Uncertain)


@pytest.mark.parametrize("reason", list(Doubt))
async def test_without_a_whole_answer_it_is_in_doubt(reason: Doubt) -> None:
    assert isinstance(await verdict_of(Unclear(reason=reason, bytes_written=1)), Uncertain)


@pytest.mark.parametrize("reason", list(Unsent))
async def test_what_was_not_sent_is_never_in_doubt(reason: Unsent) -> None:
    found = await verdict_of(NotSent(reason=reason))

    wrong = {Unsent.URL_REFUSED, Unsent.HEADERS_REFUSED, Unsent.ADDRESS_REFUSED}
    assert isinstance(found, Refused if reason in wrong else Deferred)
    if isinstance(found, Deferred):
        assert found.counts is (reason not in {Unsent.TRUST_LOST, Unsent.CLOSED, Unsent.CROWDED})


# --- marks ---


@pytest.mark.parametrize("action", ["read", "typing"])
@pytest.mark.parametrize("code", [130429, 131056, 4])
async def test_a_mark_waits_for_no_limit_since_the_reply_stands_behind_it(action: str, code: int) -> None:
    assert isinstance(await verdict_of(fault(code), call(action, READ)), Refused)


# --- what a channel lacks ---


@pytest.mark.parametrize("account", ["", "12/../34", "12?x=1", "phone", "1" * 40, "\u0663"])
async def test_an_account_that_is_no_id_reaches_no_wire(account: str) -> None:
    assert await _unsent(call(through=channel(account=account))) == Refused(
        reason="the channel has no account: the id of its phone number at Meta"
    )


@pytest.mark.parametrize("token", [None, b"", b" \n"])
async def test_without_a_token_the_channel_waits_for_one(token: bytes | None) -> None:
    assert await _unsent(call(token=token)) == Halted(reason="channel main has no token", scope=CHANNEL)


async def test_with_settings_that_cannot_be_read_the_channel_waits() -> None:
    found = await _unsent(call(through=channel(version="25")))

    assert isinstance(found, Halted)
    assert CONNECTOR.pace(channel(version="25")) is None


@pytest.mark.parametrize("payload", [b"", b"[]", b"7", b"text"])
async def test_a_payload_that_is_no_object_is_refused(payload: bytes) -> None:
    assert isinstance(await _unsent(call(content=payload)), Refused)


async def _unsent(asked: Call) -> Verdict:
    wire = SaidWire(said(TAKEN))
    found = await CONNECTOR.perform(asked, wire)
    assert wire.requests == []
    return found


# --- secrets ---

ANSWERS = [
    said(TAKEN),
    *(fault(code) for code in (0, 1, 100, 131026, 131056, 130429, 999_999)),
    said({"error": {"code": PHONE}}, 500),
    Answered(status=502, body=f"{PHONE} {TOKEN.decode()}".encode()),
]


@pytest.mark.parametrize("answer", ANSWERS)
async def test_no_verdict_holds_a_token_a_number_or_what_was_said(answer: Answered) -> None:
    found = repr(await verdict_of(answer))

    for secret in (TOKEN.decode(), PHONE, "hello", "reachable"):
        assert secret not in found


async def test_a_request_shows_no_token() -> None:
    wire = SaidWire(said(TAKEN))
    asked = call()

    await CONNECTOR.perform(asked, wire)

    assert TOKEN.decode() not in repr(wire.requests)


async def test_it_cannot_be_asked_what_it_has_taken() -> None:
    wire = SaidWire(said(TAKEN))

    assert isinstance(await CONNECTOR.probe(call(), wire), Uncertain)
    assert wire.requests == []


def test_the_pace_is_the_documented_one_unless_the_channel_says_otherwise() -> None:
    def pace(through: Channel) -> tuple[int, timedelta, int]:
        found = CONNECTOR.pace(through)
        assert found is not None
        return found.per_second, found.pair_every, found.pair_burst

    assert pace(channel()) == (80, timedelta(seconds=6), 45)
    assert pace(channel(name="b", messages_per_second=20, pair_every=3, pair_burst=5)) == (20, timedelta(seconds=3), 5)
