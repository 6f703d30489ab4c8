"""Graph on a port of this machine: reads a request's token, and answers as late, badly or not at all as it is told."""

from procession.core.errors import Misconfigured
from procession.testing.chaos.listener import Line, Listener, Request
from procession.testing.whatsapp.graph import Graph
from procession.testing.whatsapp.timing import Time

_BEARER = "bearer "


class GraphServer:
    def __init__(self, graph: Graph, time: Time) -> None:
        self._graph = graph
        self._time = time
        self._listener = Listener(self._called)

    @property
    def url(self) -> str:
        """What a channel's `api_url` is set to."""
        return f"http://127.0.0.1:{self._listener.port}"

    async def start(self, port: int = 0) -> None:
        try:
            await self._listener.start(port)
        except OSError as error:
            raise Misconfigured(f"cannot listen on port {port}: {error.strerror or error}") from error

    async def close(self) -> None:
        await self._listener.close()

    def _called(self, line: Line, request: Request) -> None:
        said = request.headers.get("authorization", "")
        token = said[len(_BEARER) :] if said.lower().startswith(_BEARER) else ""
        reaction = self._graph.asked(
            request.method, request.target, token, request.body, host=request.headers.get("host", "")
        )
        if reaction.is_silent:
            return
        if reaction.is_cut:
            line.cut()
        elif reaction.after > 0:
            self._time.after(reaction.after, lambda: line.answer(reaction.status, reaction.body))
        else:
            line.answer(reaction.status, reaction.body)
