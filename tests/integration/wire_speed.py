"""How fast the wire is, beside aiohttp's client: small keep-alive POSTs to a responder in a process of its own.

    python tests/integration/wire_speed.py [calls] [at once]

Not a test: it prints figures. aiohttp is installed for this comparison only. Both clients run on uvloop, in turn,
several times. What counts is the client's own processor time for a call: on a machine that is shared, the calls a
second say more about the neighbours.
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from ipaddress import ip_network

import uvloop

from procession.ports.wire import Answered, WireRequest
from procession.runtime.wire import AddressPolicy, Wire

BODY = b'{"to":"491700000000","type":"text","text":{"body":"hello for the 3. time"}}'
HEADERS = (
    ("content-type", "application/json"),
    ("webhook-id", "eff_2KXJ8Z6Q1V9W3"),
    ("webhook-timestamp", "1700000000"),
    ("webhook-signature", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
)
ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ndate: Tue, 01 Jul 2025 00:00:00 GMT\r\n"
    b'content-length: 15\r\n\r\n{"ok":true}    '
)

RESPONDER = """
import asyncio, sys, uvloop
ANSWER = bytes.fromhex(sys.argv[1])
class Responder(asyncio.Protocol):
    def connection_made(self, transport): self.transport, self.head = transport, b""
    def data_received(self, chunk):
        # Requests are small and one at a time: the body's last brace ends one.
        self.head += chunk
        if self.head.endswith(b"}}"):
            self.head = b""
            self.transport.write(ANSWER)
async def main():
    server = await asyncio.get_running_loop().create_server(Responder, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
uvloop.run(main())
"""


Figures = tuple[float, float]
"""Calls a second, and microseconds of this process's processor time for a call."""


async def measure(call: Callable[[], Awaitable[None]], calls: int, at_once: int) -> Figures:
    async def caller(share: int) -> None:
        for _ in range(share):
            await call()

    await asyncio.gather(*(caller(20) for _ in range(at_once)))
    made = calls // at_once * at_once
    start, start_of_work = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller(calls // at_once) for _ in range(at_once)))
    return made / (time.perf_counter() - start), (time.process_time() - start_of_work) / made * 1e6


async def with_wire(port: int, calls: int, at_once: int) -> Figures:
    wire = Wire(AddressPolicy(allow_private=(ip_network("127.0.0.0/8"),), ports=range(1, 65_536)))
    url = f"http://127.0.0.1:{port}/hooks/acme?key=1"

    async def call() -> None:
        answer = await wire.call(
            WireRequest(method="POST", url=url, headers=HEADERS, body=BODY, deadline=timedelta(seconds=10))
        )
        assert isinstance(answer, Answered), answer

    try:
        return await measure(call, calls, at_once)
    finally:
        await wire.close()


async def with_aiohttp(port: int, calls: int, at_once: int) -> Figures:
    import aiohttp

    url = f"http://127.0.0.1:{port}/hooks/acme?key=1"
    connector = aiohttp.TCPConnector(limit=at_once)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=10)) as session:

        async def call() -> None:
            async with session.post(url, data=BODY, headers=dict(HEADERS), allow_redirects=False) as answer:
                await answer.read()
                assert answer.status == 200

        return await measure(call, calls, at_once)


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    at_once = int(sys.argv[2]) if len(sys.argv) > 2 else 32
    responder = subprocess.Popen([sys.executable, "-c", RESPONDER, ANSWER.hex()], stdout=subprocess.PIPE, text=True)
    try:
        assert responder.stdout is not None
        port = int(responder.stdout.readline())
        ratios = []
        for _ in range(5):
            ours = uvloop.run(with_wire(port, calls, at_once))
            theirs = uvloop.run(with_aiohttp(port, calls, at_once))
            plain = asyncio.run(with_wire(port, calls, at_once))
            ratios.append(theirs[1] / ours[1])
            shown = (("wire", ours), ("aiohttp", theirs), ("wire on asyncio's own loop", plain))
            sys.stdout.write("   ".join(f"{name} {rate:,.0f}/s {work:.0f} us" for name, (rate, work) in shown) + "\n")
        sys.stdout.write(f"aiohttp / wire: median {statistics.median(ratios):.2f}, ")
        sys.stdout.write(f"{min(ratios):.2f} to {max(ratios):.2f}\n")
    finally:
        responder.terminate()
        responder.wait()


if __name__ == "__main__":
    main()
