"""The workload: which events come, in which lanes and when, and what each asks of its handler. Drawn, then fixed.

What a handler is to do stands in the event itself (`do`), so that a redelivered event asks for the same again, and the
auditor can know what may become of it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from procession.core.ids import ChannelName, EndpointName, EventId, LaneId, TenantId, event_id, lane_id
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import BEGINNING
from procession.testing.simulation.shape import (
    CHAT,
    FLUSH_WORD,
    NUMBERED,
    SHOP,
    TIMED,
    VERSIONED,
    Shape,
    account,
    canary,
)

Op = list[Any]
"""A word of `Script`, and what goes with it: `["raise", 2]`."""

TRIES_MAX: Final = 4
RAISES_ALWAYS: Final = 99


class Manner(StrEnum):
    """How the events of a lane come."""

    SERIAL = "serial"
    """Each is posted when the one before was answered 2xx: the order of acceptance is known beforehand."""
    LOOSE = "loose"
    """Each by itself, in bursts."""
    ORDERED = "ordered"
    """Shuffled a little: the source's own order is to be restored."""
    TYPED = "typed"
    """As people type: several in a row, collected into one turn."""


@dataclass(slots=True, kw_only=True, eq=False)
class Planned:
    """One event that will come."""

    tenant: TenantId
    channel: ChannelName
    lane_key: str
    lane: LaneId
    provider_id: str
    id: EventId
    kind: str
    n: int
    """Its number within its lane, from 1."""
    at: float
    """When it is posted first, unless its lane is serial."""
    payload: bytes
    do: Sequence[Op]

    @property
    def may_fail(self) -> bool:
        """Whether it may end set aside or parked by what its handler does itself."""
        return any(op[0] in ("raise", "hang", "kill", "park", "aside") for op in self.do)

    def asks(self, word: str) -> bool:
        return any(op[0] == word for op in self.do)


@dataclass(slots=True, kw_only=True)
class LanePlan:
    tenant: TenantId
    channel: ChannelName
    key: str
    manner: Manner
    events: list[Planned] = field(default_factory=list)

    @property
    def id(self) -> LaneId:
        return lane_id(self.tenant, self.channel, self.key)


@dataclass(slots=True, kw_only=True)
class Workload:
    lanes: list[LanePlan]
    by_id: dict[tuple[TenantId, EventId], Planned]

    @property
    def events(self) -> list[Planned]:
        return [event for lane in self.lanes for event in lane.events]


def endpoint_of(shape: Shape, event: Planned) -> EndpointName:
    return shape.snapshot.channels[event.tenant, event.channel].endpoint


def draw_workload(shape: Shape, chance: SeededChance) -> Workload:
    lanes = [plan for tenant in shape.tenants for plan in _lanes_of(tenant, chance)]
    for place in range(shape.events):
        # Some lanes get much more than others: a queue of their own is where order can go wrong.
        lane = lanes[min(chance.below(len(lanes)), chance.below(len(lanes)))] if place >= len(lanes) else lanes[place]
        lane.events.append(_event(lane, chance))
    for lane in lanes:
        _spread(lane, shape, chance)
    events = [event for lane in lanes for event in lane.events]
    return Workload(lanes=lanes, by_id={(event.tenant, event.id): event for event in events})


def _lanes_of(tenant: TenantId, chance: SeededChance) -> list[LanePlan]:
    """The keys are the same in every tenant: what is told apart by its key alone is told apart too little."""
    plans = [
        LanePlan(tenant=tenant, channel=SHOP, key="order-1", manner=Manner.SERIAL),
        LanePlan(tenant=tenant, channel=CHAT, key="person-1", manner=Manner.SERIAL),
        LanePlan(tenant=tenant, channel=CHAT, key="person-2", manner=Manner.TYPED),
    ]
    more = [
        LanePlan(tenant=tenant, channel=SHOP, key="order-2", manner=Manner.LOOSE),
        LanePlan(tenant=tenant, channel=CHAT, key="person-3", manner=Manner.LOOSE),
        LanePlan(tenant=tenant, channel=NUMBERED, key="order-1", manner=Manner.ORDERED),
        LanePlan(tenant=tenant, channel=VERSIONED, key="order-1", manner=Manner.ORDERED),
        LanePlan(tenant=tenant, channel=TIMED, key="order-1", manner=Manner.ORDERED),
    ]
    return plans + chance.shuffled(more)[: chance.below(6)]


# --- one event ---


def _event(lane: LanePlan, chance: SeededChance) -> Planned:
    n = len(lane.events) + 1
    # Likewise the ids: two tenants, and two channels of one, call their n-th event the same.
    provider_id = f"{lane.key}/{n}"
    kind, do = _what(lane, chance)
    # Sources' clocks are wrong: what an event says of its time has nothing to do with when it comes.
    claimed = n if lane.manner is Manner.ORDERED else chance.below(10_000)
    text = FLUSH_WORD if lane.manner is Manner.TYPED and chance.happens(0.15) else f"{n} {canary(lane.tenant)}"
    body = {
        "account": account(lane.tenant, lane.channel),
        "id": provider_id,
        "lane": lane.key,
        "kind": kind,
        "n": n,
        "at": (BEGINNING - timedelta(hours=3) + timedelta(seconds=claimed)).timestamp(),
        "text": text,
        "do": do,
    }
    return Planned(
        tenant=lane.tenant,
        channel=lane.channel,
        lane_key=lane.key,
        lane=lane.id,
        provider_id=provider_id,
        id=event_id(lane.tenant, lane.channel, provider_id),
        kind=kind,
        n=n,
        at=0.0,
        payload=json.dumps(body).encode(),
        do=do,
    )


def _what(lane: LanePlan, chance: SeededChance) -> tuple[str, list[Op]]:
    """A kind, which chooses the handler, and what it is to do."""
    if lane.manner is Manner.TYPED:
        return "chat.typed", [_send(lane, chance)] if chance.happens(0.7) else [["step", "look"]]
    drawn = chance.random()
    for share, kind, make in _KINDS:
        drawn -= share
        if drawn < 0:
            return kind, make(lane, chance)
    return "plan.reply", [_send(lane, chance)]


def _send(lane: LanePlan, chance: SeededChance) -> Op:
    if lane.channel != CHAT or chance.happens(0.1):
        return ["reply"]
    return ["send", chance.pick(("say", "say", "say", "book", "note"))]


def _several(lane: LanePlan, chance: SeededChance) -> list[Op]:
    return [_send(lane, chance) for _ in range(2 + chance.below(2))]


def _steps(lane: LanePlan, chance: SeededChance) -> list[Op]:
    ops: list[Op] = [["step", "think"], ["step", "think"], _send(lane, chance)]
    return ops if chance.happens(0.5) else [_send(lane, chance), ["flush"], *ops]


def _raises(lane: LanePlan, chance: SeededChance) -> list[Op]:
    times = chance.pick((1, 1, 2, 2, RAISES_ALWAYS))
    first: list[Op] = [["step", "before"]] if chance.happens(0.5) else [_send(lane, chance), ["flush"]]
    return [*first, ["raise", times], _send(lane, chance)]


def _kills(lane: LanePlan, chance: SeededChance) -> list[Op]:
    return [["sleep", 0.01], ["kill", chance.pick((1, RAISES_ALWAYS))], _send(lane, chance)]


def _reminds(_lane: LanePlan, chance: SeededChance) -> list[Op]:
    ops: list[Op] = [["remind", chance.pick(("soon", "later")), round(chance.uniform(0, 4), 2)]]
    return [*ops, ["forget", chance.pick(("soon", "later"))]] if chance.happens(0.25) else ops


def _pauses(lane: LanePlan, chance: SeededChance) -> list[Op]:
    return [_send(lane, chance), ["pause", round(chance.uniform(0.3, 3), 2), chance.happens(0.5)]]


def _decides(lane: LanePlan, chance: SeededChance) -> list[Op]:
    decision: Op = chance.pick((["delay", 0.7, 2], ["delay", 0.2, 1], ["park", 1], ["aside", 1]))
    return [["step", "look"], decision, _send(lane, chance)]


def _sleeps(lane: LanePlan, chance: SeededChance) -> list[Op]:
    return [["sleep", round(chance.uniform(0.05, 1.5), 2)], ["step", "late"], _send(lane, chance)]


_Make = Callable[[LanePlan, SeededChance], list[Op]]


def _fixed(*ops: Op) -> _Make:
    """The same each time, and a send at the end."""
    return lambda lane, chance: [*ops, _send(lane, chance)]


def _only(*ops: Op) -> _Make:
    return lambda _lane, _chance: list(ops)


_KINDS: Final[tuple[tuple[float, str, _Make], ...]] = (
    (0.10, "plan.several", _several),
    (0.10, "plan.steps", _steps),
    (0.05, "plan.sleeps", _sleeps),
    (0.05, "thread.reply", _fixed()),
    (0.035, "plan.raises", _raises),
    (0.007, "park.raises", _fixed(["raise", RAISES_ALWAYS])),
    (0.02, "plan.decides", _decides),
    (0.03, "plan.reminds", _reminds),
    (0.012, "plan.pauses", _pauses),
    (0.007, "hang.once", _fixed(["step", "look"], ["hang", 1])),
    (0.007, "plan.kills", _kills),
    (0.007, "plan.weak", _fixed(["kill", 2], ["raise", 2])),
    (0.008, "plan.long", _fixed(["sleep", 7.5], ["step", "late"])),
    (0.008, "plan.stops", _fixed(["stop", 1.3], ["step", "late"])),
    (0.02, "plan.cancels", _only(["named", "a"], ["named", "b"], ["cancel", "a"])),
    (0.02, "plan.recalls", _fixed(["recall"])),
    (0.01, "nobody.here", _only()),
    (0.03, "plan.quiet", _only()),
)
"""The share of all events, the kind, and what its handler does. The rest replies."""


# --- when they come ---


def _spread(lane: LanePlan, shape: Shape, chance: SeededChance) -> None:
    """Bursts: half of a lane's events come right after one another."""
    at = chance.uniform(0, 4)
    rate = shape.spread / max(len(lane.events), 1)
    for event in lane.events:
        at += chance.uniform(0, 0.05) if chance.happens(0.5) else chance.uniform(0, 3 * rate)
        event.at = at + (chance.uniform(0, 1.2) if lane.manner is Manner.ORDERED else 0.0)
