"""A sender over the reference store, and a connector that does what a test says."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from procession.core.effect import EffectDraft, Repeatability, Terms
from procession.core.errors import SecretMissing
from procession.core.event import Intake, NewEvent
from procession.core.ids import ChannelName, EndpointName, EventId, LaneId, TenantId, WorkerId, effect_id, event_id
from procession.core.pace import Pace
from procession.core.turn import Advance, HeldEffect, Settlement
from procession.core.verdict import Confirmed, Verdict
from procession.outbox.means import Means
from procession.outbox.outlets import Outlets
from procession.outbox.sender import Sender
from procession.ports.clock import Clock
from procession.ports.connector import Call, Shaped, Whom
from procession.ports.console import EffectView
from procession.ports.directory import Channel, Setting, Snapshot, Tenant
from procession.ports.store import Ask, Store
from procession.ports.vault import SecretName
from procession.ports.wire import WireAnswer, WirePort, WireRequest
from procession.runtime.keepalive import Kept
from procession.runtime.trust import Trust
from procession.storage.memory import MemoryStore
from procession.testing.stand_ins import ManualClock, NobodyListens, NoChance, Notebook

ACME, MAIN, LANE = TenantId("acme"), ChannelName("main"), LaneId("ln_1")
TTL = timedelta(seconds=10)


class NoWire:
    async def call(self, request: WireRequest) -> WireAnswer:
        raise AssertionError(f"nothing should go out, but {request.method} does")

    async def close(self) -> None: ...


class SaidConnector:
    """Performs by calling what the test handed over."""

    name = "said"

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.own_pace: Pace | None = None
        self.act: Callable[[Call], Awaitable[Verdict]] = self._confirm
        self.probing: Callable[[Call], Awaitable[Verdict]] = self._confirm

    async def _confirm(self, call: Call) -> Verdict:
        del call
        return Confirmed(ref="their-1")

    def actions(self) -> Mapping[str, Repeatability]:
        return {"say": Repeatability.UNSAFE}

    def shape(self, channel: Channel, whom: Whom, action: str | None, value: object) -> Shaped:
        del channel, whom
        return Shaped(action=action or "say", value=value)

    def terms(self, settings: Mapping[str, Setting], action: str) -> Terms:
        del settings
        return Terms(repeatability=self.actions()[action])

    def pace(self, channel: Channel) -> Pace | None:
        del channel
        return self.own_pace

    def check_payload(self, action: str, payload: bytes) -> None: ...

    async def perform(self, call: Call, wire: WirePort) -> Verdict:
        del wire
        self.calls.append(call)
        return await self.act(call)

    async def probe(self, call: Call, wire: WirePort) -> Verdict:
        del wire
        self.calls.append(call)
        return await self.probing(call)


class Secrets:
    def __init__(self) -> None:
        self.plain: dict[tuple[TenantId, SecretName], bytes] = {(ACME, SecretName("token")): b"acme's token"}

    async def open(self, tenant: TenantId, name: SecretName) -> bytes:
        if (tenant, name) not in self.plain:
            raise SecretMissing(f"the secret {name} is not in the vault")
        return self.plain[tenant, name]

    async def seal(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> bool:
        raise NotImplementedError

    async def forget(self, tenant: TenantId, name: SecretName, actor: str) -> None:
        raise NotImplementedError

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        raise NotImplementedError


class Scene:
    def __init__(self, store: type[MemoryStore] = MemoryStore, clock: Clock | None = None) -> None:
        self.clock = ManualClock()
        """Not in use where another was handed over."""
        self.store = store(clock=clock or self.clock)
        self.connector = SaidConnector()
        self.secrets = Secrets()
        self.notebook = Notebook()
        self.effects: list[EffectDraft] = []
        self.outlets = Outlets(self.store.directory, self.secrets, {"said": self.connector})
        self.means = self._means(self.store, clock)
        self.sender = Sender(self.means, TTL)

    def _means(self, store: Store, clock: Clock | None) -> Means:
        return Means(
            worker=WorkerId("w"),
            store=store,
            outlets=self.outlets,
            wire=NoWire(),
            bell=NobodyListens(),
            clock=clock or self.clock,
            chance=NoChance(),
            telemetry=self.notebook,
            fail_stop=_never,
        )

    async def with_channel(self) -> "Scene":
        channel = Channel(
            tenant=ACME,
            name=MAIN,
            endpoint=EndpointName("here"),
            connector="said",
            secrets={"token": SecretName("token")},
        )
        wanted = Snapshot(tenants={ACME: Tenant(id=ACME)}, channels={(ACME, MAIN): channel})
        await self.store.directory.change(wanted, actor="tester")
        return self

    async def crowd(self, conversations: int) -> None:
        """So many conversations each want to send."""
        turns = [event_id(ACME, MAIN, f"crowd-{number}") for number in range(conversations)]
        events = tuple(
            replace(_event(turn), lane=LaneId(f"ln_{turn}"), lane_key=turn, provider_id=turn) for turn in turns
        )
        await self.store.accept(Intake(endpoint=EndpointName("here"), events=events))
        for held in await self.store.claim_turns(Ask(worker=WorkerId("w"), lanes_max=conversations, ttl=TTL)):
            draft = replace(_draft(held.id, 0, Terms()), lane=held.lease.lane, lane_key=held.lane_key)
            await self.store.settle(Settlement(lease=held.lease, turn=held.id, outcome=Advance(), effects=(draft,)))

    async def ask_for(self, *terms: Terms) -> None:
        """Settle one turn that asks for an effect with each of these terms."""
        turn = event_id(ACME, MAIN, "e1")
        await self.store.accept(Intake(endpoint=EndpointName("here"), events=(_event(turn),)))
        (held,) = await self.store.claim_turns(Ask(worker=WorkerId("w"), lanes_max=1, ttl=TTL))
        self.effects = [_draft(turn, number, each) for number, each in enumerate(terms)]
        await self.store.settle(Settlement(lease=held.lease, turn=turn, outcome=Advance(), effects=tuple(self.effects)))

    async def claim(self) -> tuple[HeldEffect, Kept]:
        (held,) = await self.store.claim_sends(Ask(worker=WorkerId("w"), lanes_max=1, ttl=TTL))
        return held, Kept(held.lease, Trust(self.clock, TTL, self.clock.monotonic()))

    async def send(self) -> HeldEffect | None:
        held, kept = await self.claim()
        return await self.sender.send(held, kept)

    async def seen(self, number: int = 0) -> EffectView:
        (event,) = await self.store.console.why(self.effects[number].id)
        return event.effects[number]

    async def pass_time(self, by: timedelta) -> None:
        self.clock.move(by)
        await self.store.sweep(100)


def _never(reason: str) -> None:
    raise AssertionError(reason)


def _event(turn: EventId) -> NewEvent:
    return NewEvent(
        tenant=ACME, channel=MAIN, lane=LANE, lane_key="a", id=turn, provider_id="e1", kind="k", payload=b"{}"
    )


def _draft(turn: EventId, number: int, terms: Terms) -> EffectDraft:
    return EffectDraft(
        id=effect_id(ACME, turn, str(number)),
        key=str(number),
        channel=MAIN,
        lane=LANE,
        lane_key="a",
        action="say",
        payload=b"{}",
        terms=terms,
    )


def with_repeatability(repeatability: Repeatability) -> Terms:
    return replace(Terms(), repeatability=repeatability)
