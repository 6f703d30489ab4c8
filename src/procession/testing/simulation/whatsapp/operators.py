"""People who look after the engine of a WhatsApp world: they replace tokens, resolve doubts by what handsets show, and
clean up in the end.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from procession.core.errors import BadRequest, StoreError
from procession.core.lane import Phase
from procession.ports.console import EffectView
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.servers import Server
from procession.testing.simulation.whatsapp.auditor import WhatsAppAuditor
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.shape import WhatsAppShape, token_secret
from procession.testing.simulation.whatsapp.wire import Network
from procession.testing.whatsapp.graph import Graph
from procession.testing.whatsapp.number import Number

_ACTOR: Final = "operator"


class Operators:
    def __init__(
        self, server: Server, network: Network, graph: Graph, chance: SeededChance, auditor: WhatsAppAuditor,
        shape: WhatsAppShape,
    ) -> None:  # fmt: skip
        self.is_over = False
        self._rotating: set[str] = set()
        """Tenants of which Meta does not take the token that we have."""
        self._server = server
        self._network = network
        self._graph = graph
        self._chance = chance
        self._auditor = auditor
        self._shape = shape

    # --- while everything goes wrong ---

    async def meddle(self) -> None:
        while True:
            await sleep(self._chance.uniform(1, 4))
            if self.is_over:
                return
            await self._patiently(self._resolve)
            await self._patiently(self._release)
            if self._chance.happens(0.3):
                await self._patiently(self._replay)
            await self._patiently(self._chance.pick((self._pause, self._resume, self._nothing)))

    async def _pause(self) -> None:
        lanes = list(self._auditor.turns.by_lane)
        if lanes:
            tenant, lane = self._chance.pick(lanes)
            duration = timedelta(seconds=self._chance.uniform(0.5, 4))
            args = {"tenant": tenant, "lane": lane, "duration": duration, "keep_effects": self._chance.happens(0.5)}
            await self._server.ask("pause", {**args, "actor": _ACTOR})

    async def _resume(self) -> None:
        lanes = list(self._auditor.turns.by_lane)
        if lanes:
            tenant, lane = self._chance.pick(lanes)
            await self._server.ask("resume", {"tenant": tenant, "lane": lane, "actor": _ACTOR})

    async def _nothing(self) -> None:
        """Most of the time people have other things to do."""

    async def rotate(self) -> None:
        """Tokens of some numbers are made anew at Meta, and reach us a while later: until then nothing goes out."""
        for number in self._shape.numbers:
            if self._chance.happens(0.4):
                await sleep(self._chance.uniform(0.1, 0.35) * self._shape.spread)
                await self._rotate(number)

    async def _rotate(self, number: Number) -> None:
        channel = self._shape.channel_of(number)
        token = f"token-of-{number.tenant}-{channel.name}-1"
        self._rotating.add(channel.tenant)
        self._graph.rotate(number.id, token)
        self._auditor.note("meta", "rotates", (channel.tenant, channel.name))
        self._auditor.seen(Sight.TOKEN_ROTATED)
        await sleep(self._chance.uniform(0.3, 6))
        self._shape.secrets[channel.tenant, token_secret(channel)] = token.encode()
        self._auditor.tokens.replaced(number.id, token, self._auditor.store_now())
        self._rotating.discard(channel.tenant)
        await self._patiently(self._release)

    async def _patiently(self, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()
        except (BadRequest, StoreError):
            # Somebody holds it just now, or the store is away: the next round comes.
            return

    async def _release(self) -> None:
        for halt in await self._server.console.halts():
            if halt.until is None and halt.tenant not in self._rotating:
                args = {"tenant": halt.tenant, "channel": halt.channel, "actor": _ACTOR}
                await self._server.ask("release", args)

    async def _resolve(self) -> None:
        for doubt in await self._server.console.doubts(limit=200):
            if doubt.waits_for.startswith("an operator"):
                await self._decide(doubt)

    async def _decide(self, doubt: EffectView) -> None:
        """As an honest operator does who has looked at the handset."""
        if self._network.may_take_yet(doubt.id):
            return
        how = "sent" if self._network.took(doubt.id) else self._chance.pick(("resend", "resend", "skip"))
        args = {"tenant": doubt.tenant, "effect": doubt.id, "how": how, "actor": _ACTOR}
        await self._server.ask("resolve", args)

    async def _replay(self) -> None:
        for aside in await self._server.console.asides(limit=50):
            await self._server.ask("replay", {"tenant": aside.tenant, "event": aside.id, "actor": _ACTOR})

    # --- when everything is well again ---

    async def clean_up(self) -> None:
        """One round. What comes due by itself is left to do so."""
        for act in (self._release, self._replay, self._resolve, self._free):
            await self._patiently(act)

    async def _free(self) -> None:
        for lane in await self._server.console.lanes(phase=Phase.PARKED, limit=500):
            await self._server.ask("resume", {"tenant": lane.tenant, "lane": lane.lane, "actor": _ACTOR})
