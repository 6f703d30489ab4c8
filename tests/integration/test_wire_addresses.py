"""No call leaves for an address that the policy closes, whatever the name says."""

import socket
from ipaddress import ip_network

import pytest

from procession.ports.wire import Unsent
from procession.runtime.wire import AddressPolicy, WireLimits
from tests.integration.wire_peers import (
    LOCAL,
    Visit,
    always_ok,
    answered,
    not_sent,
    on_each_loop,
    peer,
    request,
    resolves_to,
    wire,
)

PUBLIC = AddressPolicy(ports=range(1, 65_536))
ONE_NETWORK = AddressPolicy(allow_private=(ip_network("127.0.0.1/32"),), ports=range(1, 65_536))


@pytest.mark.parametrize("scheme", ["http", "https"])
@on_each_loop
async def test_a_closed_address_is_never_connected_to(scheme: str) -> None:
    async with peer(always_ok) as there, wire(PUBLIC) as client:
        for host in (
            "127.0.0.1",
            "there.test",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "0.0.0.0",
        ):
            answer = not_sent(await client.call(request(f"{scheme}://{host}:{there.port}/")))
            assert answer.reason is Unsent.ADDRESS_REFUSED, host

        assert there.visits == 0


@pytest.mark.parametrize(
    "addresses",
    [
        ("8.8.8.8", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.2"),
        ("127.0.0.1", "169.254.169.254"),
        ("127.0.0.1", "::ffff:127.0.0.1"),
        ("127.0.0.1", "fe80::1%eth0"),
        ("127.0.0.1", "what?"),
        ("127.0.0.1", "127.1"),
    ],
)
@on_each_loop
async def test_one_closed_address_closes_the_name(addresses: tuple[str, ...]) -> None:
    for order in (addresses, addresses[::-1]):
        async with peer(always_ok) as there, wire(ONE_NETWORK, resolve=resolves_to(*order)) as client:
            answer = not_sent(await client.call(request(f"http://there.test:{there.port}/")))

            assert answer.reason is Unsent.ADDRESS_REFUSED
            assert there.visits == 0


@on_each_loop
async def test_a_name_that_is_bound_anew_is_asked_once_a_connection_and_judged_each_time() -> None:
    bound = ["127.0.0.1", "127.0.0.2", "127.0.0.1"]
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return [bound[len(asked) - 1]]

    async def once(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")

    async with peer(once) as there, wire(ONE_NETWORK, resolve=resolve) as client:
        url = f"http://there.test:{there.port}/"

        answered(await client.call(request(url)))
        assert not_sent(await client.call(request(url))).reason is Unsent.ADDRESS_REFUSED
        answered(await client.call(request(url)))

        assert asked == [("there.test", there.port)] * 3
        assert f"host: there.test:{there.port}\r\n".encode() in there.requests[0]


@on_each_loop
async def test_a_redirect_to_a_closed_address_is_an_answer_and_no_more() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        location = f"http://127.0.0.1:{other.port}/latest/meta-data/".encode()
        await visit.say(b"HTTP/1.1 307 Temporary\r\nlocation: " + location + b"\r\ncontent-length: 0\r\n\r\n")
        await visit.end()

    async with peer(always_ok) as other, peer(script) as there, wire() as client:
        answer = answered(await client.call(request(there.url)))

        assert answer.status == 307
        assert other.visits == 0


@on_each_loop
async def test_the_environment_moves_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async with peer(always_ok) as proxy, peer(always_ok) as there, wire() as client:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")

        answered(await client.call(request(there.url)))

        assert (proxy.visits, there.visits) == (0, 1)


@on_each_loop
async def test_no_cookie_is_kept() -> None:
    async def script(visit: Visit) -> None:
        for _ in range(2):
            await visit.request()
            await visit.say(b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n")

    async with peer(script) as there, wire() as client:
        for _ in range(2):
            answered(await client.call(request(there.url)))

        assert b"cookie" not in there.requests[1].lower()


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (socket.gaierror(socket.EAI_NONAME, "s3cret"), "EAI_NONAME"),
        (socket.gaierror(socket.EAI_AGAIN, "s3cret"), "EAI_AGAIN"),
        (OSError("s3cret"), "OSError"),
        (UnicodeError("s3cret"), "UnicodeError"),
    ],
)
@on_each_loop
async def test_a_name_that_does_not_resolve_is_not_sent(error: Exception, detail: str) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise error

    async with wire(resolve=resolve) as client:
        answer = not_sent(await client.call(request("http://there.test/")))

        assert (answer.reason, answer.detail) == (Unsent.NAME_UNKNOWN, detail)


@on_each_loop
async def test_a_name_without_addresses_is_not_sent() -> None:
    async with wire(resolve=resolves_to()) as client:
        assert not_sent(await client.call(request("http://there.test/"))).reason is Unsent.NAME_UNKNOWN


@on_each_loop
async def test_a_name_is_looked_up_only_where_scheme_and_port_are_allowed() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise AssertionError("nothing was to be looked up")

    async with wire(AddressPolicy(), resolve=resolve) as client:
        for url in ("http://there.test/", "https://there.test:22/", "http://there.test:443/"):
            assert not_sent(await client.call(request(url))).reason is Unsent.ADDRESS_REFUSED


@on_each_loop
async def test_the_system_looks_names_up_by_default() -> None:
    from procession.runtime.wire.dialer import resolve_by_system

    found = await resolve_by_system("127.0.0.1", 80)

    assert found == ["127.0.0.1"]


@on_each_loop
async def test_only_the_first_few_addresses_are_tried() -> None:
    addresses = [f"127.0.0.{last}" for last in range(9, 1, -1)]

    async with peer(always_ok) as there:
        url = f"http://there.test:{there.port}/"
        for tried, arrives in ((len(addresses), False), (len(addresses) + 1, True)):
            limits = WireLimits(addresses_max=tried)
            async with wire(LOCAL, limits, resolve=resolves_to(*addresses, "127.0.0.1")) as client:
                answer = await client.call(request(url))
                assert (type(answer).__name__ == "Answered") is arrives
