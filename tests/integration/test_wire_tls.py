"""TLS to whom the URL names, wherever the address leads."""

import ssl
from pathlib import Path

import pytest

from procession.core.errors import Misconfigured
from procession.ports.wire import Doubt, Unsent
from procession.runtime.wire import Wire, WireLimits
from tests.integration.wire_certificates import Authority
from tests.integration.wire_peers import (
    LOCAL,
    OK,
    SHORT,
    Visit,
    always_ok,
    answered,
    closing_with,
    not_sent,
    on_each_loop,
    peer,
    request,
    saying,
    unclear,
    wire,
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@on_each_loop
async def test_a_certified_server_is_spoken_to_by_its_name_at_the_resolved_address(authority: Authority) -> None:
    asked_for = []
    context = authority.serving("api.test")
    context.sni_callback = lambda _sock, name, _context: asked_for.append(name)

    async with peer(always_ok, tls=context) as there, wire(tls=authority.trusting()) as client:
        for _ in range(3):
            answered(await client.call(request(f"https://API.test:{there.port}/x")))

        assert asked_for == ["api.test"]
        assert (there.visits, len(there.requests)) == (1, 3)
        assert f"host: api.test:{there.port}\r\n".encode() in there.requests[0]


@on_each_loop
async def test_an_address_may_be_certified_itself(authority: Authority) -> None:
    async with peer(always_ok, tls=authority.serving("127.0.0.1")) as there, wire(tls=authority.trusting()) as client:
        answered(await client.call(request(there.url)))


@pytest.mark.parametrize(
    ("hosts", "days", "why"),
    [
        (("other.test",), 36_500, "Hostname mismatch"),
        (("test",), 36_500, "Hostname mismatch"),
        (("*.api.test",), 36_500, "Hostname mismatch"),
        (("127.0.0.1",), 36_500, "Hostname mismatch"),
        (("api.test",), 30, "certificate has expired"),
    ],
)
@on_each_loop
async def test_a_certificate_that_is_not_of_this_host_and_time_sends_nothing(
    authority: Authority, hosts: tuple[str, ...], days: int, why: str
) -> None:
    context = authority.serving(*hosts, days=days)

    async with peer(always_ok, tls=context) as there, wire(tls=authority.trusting()) as client:
        answer = not_sent(await client.call(request(f"https://api.test:{there.port}/")))

        assert answer.reason is Unsent.TLS_FAILED
        assert why in answer.detail
        assert not there.requests


@on_each_loop
async def test_an_authority_that_nobody_trusts_sends_nothing(authority: Authority, tmp_path: Path) -> None:
    stranger = Authority(tmp_path)

    async with peer(always_ok, tls=stranger.serving("api.test")) as there, wire(tls=authority.trusting()) as client:
        answer = not_sent(await client.call(request(f"https://api.test:{there.port}/")))

        assert answer.reason is Unsent.TLS_FAILED
        assert not there.requests


@on_each_loop
async def test_the_systems_authorities_are_the_default(authority: Authority) -> None:
    async with peer(always_ok, tls=authority.serving("api.test")) as there, wire() as client:
        answer = not_sent(await client.call(request(f"https://api.test:{there.port}/")))

        assert answer.reason is Unsent.TLS_FAILED
        assert not there.requests


@on_each_loop
async def test_a_server_that_hangs_up_in_the_handshake_is_not_sent(authority: Authority) -> None:
    async def script(visit: Visit) -> None:
        await visit.reader.read(1)
        visit.reset()

    async with peer(script) as there, wire(tls=authority.trusting()) as client:
        answer = not_sent(await client.call(request(f"https://api.test:{there.port}/")))

        assert answer.reason is Unsent.TLS_FAILED


@on_each_loop
async def test_a_server_that_knows_no_tls_is_not_sent(authority: Authority) -> None:
    async def script(visit: Visit) -> None:
        await visit.reader.read(1)
        await visit.say(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        await visit.end()

    async with peer(script) as there, wire(tls=authority.trusting()) as client:
        answer = not_sent(await client.call(request(f"https://api.test:{there.port}/")))

        assert answer.reason is Unsent.TLS_FAILED


@on_each_loop
async def test_a_deadline_that_passes_in_the_handshake_is_not_sent_and_leaves_nothing_open(
    authority: Authority,
) -> None:
    async def silent(visit: Visit) -> None:
        await visit.end()

    async with peer(silent) as there, wire(tls=authority.trusting(), limits=WireLimits(connections_max=1)) as client:
        for number in (1, 2):
            answer = not_sent(await client.call(request(f"https://api.test:{there.port}/", deadline=SHORT)))

            assert (answer.reason, answer.detail) == (Unsent.OUT_OF_TIME, "TLS handshake")
            await there.until(lambda number=number: there.ended == number)  # type: ignore[misc]  # the loop's own value


@on_each_loop
async def test_no_plain_answer_is_taken_for_one_under_tls(authority: Authority) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        visit.writer.transport.get_extra_info("ssl_object")
        visit.writer.transport.abort()

    async with peer(script, tls=authority.serving("api.test")) as there, wire(tls=authority.trusting()) as client:
        answer = unclear(await client.call(request(f"https://api.test:{there.port}/")))

        assert answer.reason is Doubt.BROKEN_OFF


@on_each_loop
async def test_an_answer_that_is_cut_under_tls_is_unclear(authority: Authority) -> None:
    async with (
        peer(closing_with(OK[:-1]), tls=authority.serving("api.test")) as there,
        wire(tls=authority.trusting()) as client,
    ):
        assert unclear(await client.call(request(f"https://api.test:{there.port}/"))).reason is Doubt.CUT


@on_each_loop
async def test_a_large_exchange_goes_through_under_tls(authority: Authority) -> None:
    body = bytes(range(256)) * 4_000
    raw = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body

    async with (
        peer(saying(raw, raw), tls=authority.serving("api.test")) as there,
        wire(tls=authority.trusting()) as client,
    ):
        for _ in range(2):
            answer = answered(await client.call(request(f"https://api.test:{there.port}/", body=body)))
            assert answer.body == body

        assert all(heard.endswith(body) for heard in there.requests)
        assert there.visits == 1


@on_each_loop
async def test_trust_that_is_lost_sends_nothing_under_tls(authority: Authority) -> None:
    context = authority.serving("api.test")

    async with peer(always_ok, tls=context) as there, wire(tls=authority.trusting()) as client:
        answer = await client.call(request(f"https://api.test:{there.port}/", may_begin=lambda: False))

        assert not_sent(answer).reason is Unsent.TRUST_LOST
        assert not there.requests


@pytest.mark.parametrize("weakness", ["no certificate", "any host"])
def test_a_context_that_does_not_verify_is_refused(weakness: str) -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    if weakness == "no certificate":
        context.verify_mode = ssl.CERT_NONE

    with pytest.raises(Misconfigured, match="verify"):
        Wire(LOCAL, tls=context)
