"""Posts deliveries like a platform that never gives up: over many connections, again until 2xx, and some twice.

A lane's next event is posted only after the one before it was answered 2xx (or was given up), so that the history
knows the order of acceptance. Copies of deliveries go out beside the first post and after its answer.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count

from procession.ports.chance import Chance
from procession.ports.clock import Clock
from procession.testing.chaos.caller import Caller, NotSent, Unclear
from procession.testing.chaos.delivery import Deliver, Delivery
from procession.testing.chaos.history import Answered, History, Outcome, Posted


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadShape:
    connections: int = 64
    copied_beside: float = 0.05
    """The share of deliveries that are posted a second time at the same moment."""
    copied_after: float = 0.05
    """The share of deliveries that are posted again after their 2xx."""
    tries_max: int = 400
    """Then a delivery is given up: with the longest pause, a server that is gone for minutes."""
    pause_first: timedelta = timedelta(milliseconds=20)
    pause_longest: timedelta = timedelta(milliseconds=500)
    patience: timedelta = timedelta(seconds=10)
    """For one answer; then it counts as `info`."""
    per_second: float | None = None
    """New events a second over all lanes; without it as many as are answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    accepted: int
    copies: int
    retries: int
    given_up: int


class LoadGenerator:
    def __init__(
        self,
        *,
        host: str,
        port: int,
        path: str,
        deliver: Deliver,
        lanes: Sequence[str],
        history: History,
        clock: Clock,
        chance: Chance,
        shape: LoadShape | None = None,
    ) -> None:
        self._shape = shape or LoadShape()
        self._address = (host, port)
        self._path = path
        self._deliver = deliver
        self._history = history
        self._clock = clock
        self._chance = chance
        self._ready: deque[tuple[str, int]] = deque((lane, 1) for lane in lanes)
        self._copies: deque[Delivery] = deque()
        self._requests = count(1)
        self._stopping = asyncio.Event()
        self._begun = self._accepted = self._copied = self._retried = self._given_up = 0
        self._next_slot = 0.0

    @property
    def accepted(self) -> int:
        """New events answered 2xx so far."""
        return self._accepted

    def stop(self) -> None:
        """No new events; what is under way is finished, without further tries."""
        self._stopping.set()

    async def run(self, events: int) -> LoadReport:
        """Posts that many new events, each until its 2xx; may be called again, and goes on where it was."""
        upto = self._begun + events
        async with asyncio.TaskGroup() as group:
            for _ in range(self._shape.connections):
                group.create_task(self._poster(upto))
        return LoadReport(accepted=self._accepted, copies=self._copied, retries=self._retried, given_up=self._given_up)

    async def _poster(self, upto: int) -> None:
        host, port = self._address
        async with Caller(host=host, port=port, patience=self._shape.patience) as caller:
            while not self._stopping.is_set() and (self._copies or self._begun < upto):
                if self._copies:
                    await self._post(caller, self._copies.popleft(), attempt=0)
                elif self._ready:
                    await self._post_next(caller)
                else:
                    await self._pause(self._shape.pause_first.total_seconds())

    async def _post_next(self, caller: Caller) -> None:
        lane, n = self._ready.popleft()
        self._begun += 1
        await self._wait_for_slot()
        delivery = self._deliver(lane, n)
        if self._drawn(self._shape.copied_beside):
            self._copies.append(delivery)
        if await self._post_until_taken(caller, delivery):
            self._accepted += 1
            if self._drawn(self._shape.copied_after):
                self._copies.append(delivery)
        elif not self._stopping.is_set():
            self._given_up += 1
        self._ready.append((lane, n + 1))

    async def _post_until_taken(self, caller: Caller, delivery: Delivery) -> bool:
        pause = self._shape.pause_first.total_seconds()
        for attempt in range(1, self._shape.tries_max + 1):
            if await self._post(caller, delivery, attempt=attempt) is Outcome.OK:
                return True
            if await self._pause(pause * self._chance.uniform(0.5, 1.0)):
                return False
            self._retried += 1
            pause = min(pause * 2, self._shape.pause_longest.total_seconds())
        return False

    async def _post(self, caller: Caller, delivery: Delivery, *, attempt: int) -> Outcome:
        """Attempt 0 is a copy that nobody waits for."""
        req = next(self._requests)
        self._copied += attempt == 0
        self._history.append(
            Posted(
                req=req,
                event=delivery.event,
                lane=delivery.lane,
                n=delivery.n,
                attempt=attempt,
                is_copy=attempt == 0,
            )
        )
        status, why = None, ""
        try:
            status = (await caller.post(self._path, delivery.headers, delivery.body)).status
            outcome = outcome_of(status)
        except NotSent as away:
            outcome, why = Outcome.FAIL, str(away)
        except Unclear as unclear:
            outcome, why = Outcome.INFO, str(unclear)
        self._history.append(Answered(req=req, event=delivery.event, outcome=outcome, status=status, why=why))
        return outcome

    async def _wait_for_slot(self) -> None:
        if self._shape.per_second is not None:
            now = self._clock.monotonic()
            self._next_slot = max(self._next_slot, now) + 1 / self._shape.per_second
            await self._pause(self._next_slot - now)

    async def _pause(self, seconds: float) -> bool:
        """Until then, or until it is over; says whether it is over."""
        try:
            async with asyncio.timeout(seconds):
                return await self._stopping.wait()
        except TimeoutError:
            return False

    def _drawn(self, share: float) -> bool:
        return self._chance.uniform(0.0, 1.0) < share


def outcome_of(status: int) -> Outcome:
    """A 5xx or 429 may stand for a commit whose outcome is unknown; other refusals are certain."""
    if 200 <= status < 300:
        return Outcome.OK
    return Outcome.INFO if status >= 500 or status == 429 else Outcome.FAIL
