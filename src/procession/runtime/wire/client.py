"""The wire itself. One call goes through these steps, and each of them knows what its failure means:

    target, payload, policy        refused: NotSent, before anything is looked up
    a connection or a place        waiting is bounded by the deadline: NotSent
    on a rested connection         closed meanwhile, and not one byte went out: go on in its place
    on a fresh one                 resolve, judge, connect, TLS: NotSent
    begin                          deadline, trust, first byte
    answer                         Answered or Unclear

From `begin` on there is no second try.
"""

import asyncio
import ssl
from typing import Final

from procession.ports.wire import NotSent, Unsent, WireAnswer, WireRequest
from procession.runtime.wire.connection import GONE, Connection
from procession.runtime.wire.dialer import Dialer, Resolve, resolve_by_system
from procession.runtime.wire.limits import WireLimits
from procession.runtime.wire.payload import write_payload
from procession.runtime.wire.policy import AddressPolicy
from procession.runtime.wire.pool import Pool
from procession.runtime.wire.target import Target, read_url

_CLOSED: Final = NotSent(reason=Unsent.CLOSED)


class Wire:
    """Implements `ports.wire.WirePort`. It belongs to the loop in which its first call is made."""

    def __init__(
        self,
        policy: AddressPolicy,
        limits: WireLimits | None = None,
        *,
        resolve: Resolve = resolve_by_system,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy
        self._limits = limits or WireLimits()
        self._dialer = Dialer(policy=policy, limits=self._limits, resolve=resolve, tls=tls)
        self._pool = Pool(self._limits)
        self._open: set[Connection] = set()
        self._closed = False

    async def call(self, request: WireRequest) -> WireAnswer:
        if self._closed:
            return _CLOSED
        target = read_url(request.url)
        if isinstance(target, NotSent):
            return target
        if not self._policy.allows_origin(encrypted=target.origin.encrypted, port=target.origin.port):
            return NotSent(reason=Unsent.ADDRESS_REFUSED, detail=target.authority)
        payload = write_payload(request, target)
        if isinstance(payload, NotSent):
            return payload
        deadline = asyncio.get_running_loop().time() + request.deadline.total_seconds()
        lent = await self._pool.take(target.origin, deadline=deadline)
        if isinstance(lent, NotSent):
            return lent
        if lent is not None:
            answer = await self._exchange(lent, request, payload, deadline)
            if answer is not GONE:
                return answer
        return await self._call_afresh(target, request, payload, deadline)

    async def close(self) -> None:
        self._closed = True
        self._pool.close()
        for connection in tuple(self._open):
            connection.shut()
        for connection in tuple(self._open):
            await connection.closed

    async def _exchange(
        self, connection: Connection, request: WireRequest, payload: bytes, deadline: float
    ) -> WireAnswer:
        """On a connection in its place; both are given back, but for GONE: then the place is kept."""
        gone = False
        try:
            answer = await connection.exchange(
                payload, bodiless=request.method == "HEAD", deadline=deadline, may_begin=request.may_begin
            )
            gone = answer is GONE
            return answer
        finally:
            if not gone:
                self._pool.give_back(connection)

    async def _call_afresh(self, target: Target, request: WireRequest, payload: bytes, deadline: float) -> WireAnswer:
        """On a new connection, in a place that is held already."""
        dialled: Connection | NotSent = _CLOSED
        try:
            dialled = await self._dialer.dial(target, deadline=deadline, lost=self._forget)
        finally:
            if isinstance(dialled, NotSent):
                self._pool.leave(target.origin)
        if isinstance(dialled, NotSent):
            return dialled
        self._open.add(dialled)
        if self._closed:
            dialled.shut()
        answer = await self._exchange(dialled, request, payload, deadline)
        if answer is GONE:
            self._pool.leave(target.origin)
            return _CLOSED if self._closed else answer
        return answer

    def _forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._pool.forget(connection)
