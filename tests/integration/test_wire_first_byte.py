"""The line between NotSent and Unclear is the first byte of the request."""

import asyncio
import socket
from datetime import timedelta
from functools import partial

import pytest

from procession.ports.wire import Doubt, Unsent, WireAnswer
from procession.runtime.wire import Wire, WireLimits
from tests.integration.wire_peers import (
    LOCAL,
    OK,
    SHORT,
    Puppet,
    Visit,
    always_ok,
    answered,
    not_sent,
    on_each_loop,
    peer,
    puppet,
    request,
    reset,
    unclear,
    wire,
)


async def rested(client: Wire, there: Puppet) -> socket.socket:
    """One exchange that went well. The server's end of the connection, which rests now."""

    async def serve() -> socket.socket:
        taken = await there.accepted()
        await there.heard(taken)
        await asyncio.get_running_loop().sock_sendall(taken, OK)
        return taken

    _, taken = await asyncio.gather(client.call(request(there.url)), serve())
    return taken


async def answered_afresh(client: Wire, there: Puppet) -> None:
    """A call that is to go on to a fresh connection, and whose request arrives there, once and whole."""
    asked = []

    async def serve() -> bytes:
        taken = await there.accepted()
        heard = await there.heard(taken)
        await asyncio.get_running_loop().sock_sendall(taken, OK)
        return heard

    def may_begin() -> bool:
        asked.append(True)
        return True

    answer, heard = await asyncio.gather(client.call(request(there.url, may_begin=may_begin)), serve())
    answered(answer)
    assert heard.count(b"POST") == 1
    assert len(asked) == 1


@on_each_loop
async def test_a_close_that_the_loop_has_not_seen_is_seen_before_the_first_byte() -> None:
    with puppet() as there:
        async with wire() as client:
            taken = await rested(client, there)
            taken.close()

            await answered_afresh(client, there)


@on_each_loop
async def test_unasked_bytes_that_the_loop_has_not_seen_are_seen_before_the_first_byte() -> None:
    with puppet() as there:
        async with wire() as client:
            taken = await rested(client, there)
            taken.send(b"HTTP/1.1 408 Too Slow\r\ncontent-length: 0\r\n\r\n")

            await answered_afresh(client, there)


@on_each_loop
async def test_a_write_that_fails_whole_on_a_rested_connection_goes_on_to_a_fresh_one() -> None:
    with puppet() as there:
        async with wire() as client:
            taken = await rested(client, there)
            asked: list[bool] = []

            def reset_first() -> bool:
                if not asked:
                    reset(taken)
                asked.append(True)
                return True

            async def serve() -> None:
                fresh = await there.accepted()
                await there.heard(fresh)
                await asyncio.get_running_loop().sock_sendall(fresh, OK)

            answer, _ = await asyncio.gather(client.call(request(there.url, may_begin=reset_first)), serve())

            answered(answer)
            assert len(asked) == 2, "trust is asked for again before the other connection's first byte"


@on_each_loop
async def test_a_write_that_fails_whole_on_a_fresh_connection_is_not_sent() -> None:
    with puppet() as there:
        async with wire(limits=WireLimits(connections_max=1)) as client:

            def reset_first() -> bool:
                reset(there.accept())
                return True

            answer = not_sent(await client.call(request(there.url, may_begin=reset_first)))

            assert answer.reason is Unsent.UNREACHABLE
            await answered_afresh(client, there)


@on_each_loop
async def test_a_close_that_crosses_the_request_is_unclear_and_never_tried_again() -> None:
    with puppet() as there:
        async with wire() as client:
            taken = await rested(client, there)

            def close_first() -> bool:
                taken.close()
                return True

            answer = unclear(await client.call(request(there.url, may_begin=close_first)))

            assert answer.reason is Doubt.BROKEN_OFF
            with pytest.raises(BlockingIOError):
                there.accept()


@pytest.mark.parametrize("with_reset", [False, True])
@on_each_loop
async def test_a_connection_that_ends_with_the_request_taken_and_no_answer_is_unclear(with_reset: bool) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        if with_reset:
            visit.reset()

    async with peer(script) as there, wire() as client:
        answer = unclear(await client.call(request(there.url)))

        assert answer.reason is Doubt.BROKEN_OFF
        assert answer.bytes_written == len(there.requests[0])
        assert there.visits == 1


@on_each_loop
async def test_a_reset_in_the_middle_of_the_request_is_unclear() -> None:
    async def script(visit: Visit) -> None:
        await visit.reader.readexactly(1_000)
        visit.reset()

    async with peer(script) as there, wire() as client:
        answer = unclear(await client.call(request(there.url, body=bytes(50_000_000))))

        assert answer.reason is Doubt.BROKEN_OFF
        assert there.visits == 1


@on_each_loop
async def test_a_server_that_closes_at_once_is_not_sent_only_if_it_got_nothing() -> None:
    got = []

    async def script(visit: Visit) -> None:
        if visit.number % 2:
            await asyncio.sleep(0)
        visit.writer.write_eof()
        got.append(await visit.reader.read())

    async with peer(script) as there, wire() as client:
        for number in range(1, 31):
            answer: WireAnswer = await client.call(request(there.url))
            await there.until(partial(there.has_ended, number))

            if got[-1]:
                assert unclear(answer).reason is Doubt.BROKEN_OFF
            else:
                assert not_sent(answer).reason is Unsent.UNREACHABLE


@on_each_loop
async def test_nothing_is_written_once_trust_is_gone_and_the_connection_stays_good() -> None:
    async with peer(always_ok) as there, wire() as client:
        for trusted in (False, True, False, True):
            answer = await client.call(request(there.url, may_begin=partial(bool, trusted)))
            if trusted:
                answered(answer)
            else:
                assert not_sent(answer).reason is Unsent.TRUST_LOST

        assert (there.visits, len(there.requests)) == (1, 2)


@on_each_loop
async def test_what_may_begin_raises_comes_through_and_nothing_is_written() -> None:
    def may_begin() -> bool:
        raise LookupError("not ours")

    async with peer(always_ok) as there, wire(limits=WireLimits(connections_max=1)) as client:
        for _ in range(2):
            with pytest.raises(LookupError):
                await client.call(request(there.url, may_begin=may_begin))
        answered(await client.call(request(there.url)))

        assert len(there.requests) == 1


@on_each_loop
async def test_a_deadline_that_is_over_at_once_sends_nothing() -> None:
    async with peer(always_ok) as there, wire() as client:
        answered(await client.call(request(there.url)))
        answer = not_sent(await client.call(request(there.url, deadline=timedelta(0))))

        assert answer.reason is Unsent.OUT_OF_TIME
        assert len(there.requests) == 1


@on_each_loop
async def test_a_deadline_that_passes_during_the_name_lookup_sends_nothing() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    client = Wire(LOCAL, resolve=resolve)
    answer = not_sent(await client.call(request("http://there.test/", deadline=SHORT)))
    await client.close()

    assert (answer.reason, answer.detail) == (Unsent.OUT_OF_TIME, "looking up the name")


@on_each_loop
async def test_a_deadline_that_passes_within_a_large_request_is_unclear() -> None:
    async def deaf(visit: Visit) -> None:
        visit.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a stream's transport reads too
        await there.until(lambda: done)

    done = False
    async with peer(deaf) as there, wire() as client:
        answer = unclear(await client.call(request(there.url, body=bytes(50_000_000), deadline=SHORT)))
        done = True
        await there.tell()

        assert answer.reason is Doubt.WRITE_TIMED_OUT
        assert 0 < answer.bytes_written < 50_000_000
