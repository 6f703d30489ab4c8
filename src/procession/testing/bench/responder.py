"""A provider that takes everything at once: what a send costs then is the engine's own.

python -m procession.testing.bench.responder
"""

import asyncio
import json
import sys
from typing import cast

import httptools
import uvloop

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Responder(asyncio.Protocol):
    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # By what it can do: uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None

    def data_received(self, received: bytes) -> None:
        self._parser.feed_data(received)

    def on_message_complete(self) -> None:
        if self._transport is not None:
            self._transport.write(_ANSWER)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Responder, "127.0.0.1", 0)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
