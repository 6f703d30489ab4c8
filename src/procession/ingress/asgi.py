"""The ASGI application of ingress: `/hooks/{endpoint}` and `/health`. Other faces are mounted beside it by prefix."""

from collections.abc import Mapping
from functools import lru_cache

from procession.core.limits import BODY_BYTES_MAX
from procession.ingress.answers import HEALTHY, KEPT, NO_SUCH_PAGE, NOT_READY, TOO_LARGE, HttpAnswer
from procession.ingress.asgi_types import ASGIApp, Receive, Scope, Send
from procession.ingress.receive import Receiver
from procession.ports.clock import Clock
from procession.ports.connector import Delivery

HOOKS = "/hooks/"


class Gone(Exception):
    """The peer went away before its request was whole."""


class TooLarge(Exception):
    """The body exceeds the bound."""


class IngressApp:
    def __init__(self, receiver: Receiver, clock: Clock, mounts: Mapping[str, ASGIApp] | None = None) -> None:
        """`mounts`: other applications by path prefix (`/console`), for whoever serves everything from one port."""
        self._receiver = receiver
        self._clock = clock
        self._mounts = dict(mounts or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path = str(scope["path"])
        for prefix, app in self._mounts.items():
            if path == prefix or path.startswith(prefix + "/"):
                await app(scope, receive, send)
                return
        try:
            await answer_with(send, await self._answer(path, scope, receive))
        except Gone:
            return

    async def _answer(self, path: str, scope: Scope, receive: Receive) -> HttpAnswer:
        if path.startswith(HOOKS):
            try:
                body = await body_of(receive)
            except TooLarge:
                return TOO_LARGE
            return await self._receiver.receive(path[len(HOOKS) :], self._delivery(scope, body))
        if path == "/health":
            return HEALTHY if self._receiver.is_ready else NOT_READY
        return NO_SUCH_PAGE

    def _delivery(self, scope: Scope, body: bytes) -> Delivery:
        headers = scope["headers"]
        assert isinstance(headers, list)
        query = scope.get("query_string", b"")
        return Delivery(
            method=str(scope["method"]),
            path=str(scope["path"]),
            query=query.decode("latin-1") if isinstance(query, bytes) else "",
            headers=tuple([(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]),
            body=body,
            received_at=self._clock.now(),
        )


async def body_of(receive: Receive, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The whole body, bounded as it arrives: this application may be served by others than our own server."""
    parts: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] != "http.request":
            raise Gone
        part = event.get("body", b"")
        assert isinstance(part, bytes)
        size += len(part)
        if size > bytes_max:
            raise TooLarge
        if not event.get("more_body", False):
            return b"".join([*parts, part]) if parts else part
        parts.append(part)


async def answer_with(send: Send, answer: HttpAnswer) -> None:
    start, body = _events_of(answer)
    await send(start)
    await send(body)


@lru_cache(maxsize=64)
def _events_of(answer: HttpAnswer) -> tuple[dict[str, object], dict[str, object]]:
    """Made once: nearly all answers are one of the few that `answers` names."""
    headers = [
        (b"content-type", answer.content_type),
        (b"content-length", str(len(answer.body)).encode("ascii")),
        *answer.headers,
    ]
    if answer != KEPT:
        # Also a handshake, which is 200 and echoes what somebody has sent.
        headers.append((b"x-content-type-options", b"nosniff"))
    if answer.retry_after is not None:
        headers.append((b"retry-after", str(answer.retry_after).encode("ascii")))
    return (
        {"type": "http.response.start", "status": answer.status, "headers": headers},
        {"type": "http.response.body", "body": answer.body},
    )
