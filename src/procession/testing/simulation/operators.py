"""People who look after the engine: at first they meddle with it, in the end they clean up."""

from datetime import MAXYEAR, timedelta
from typing import Final

from procession.core.errors import BadRequest, StoreError
from procession.core.ids import TenantId
from procession.core.lane import Phase, Side
from procession.ports.console import EffectView
from procession.testing.simulation.auditor import Auditor
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.provider import Provider
from procession.testing.simulation.servers import Server
from procession.testing.simulation.shape import Shape

_ACTOR: Final = "operator"


class Operators:
    def __init__(
        self, server: Server, provider: Provider, chance: SeededChance, auditor: Auditor, shape: Shape
    ) -> None:
        self._server = server
        self._provider = provider
        self._chance = chance
        self._auditor = auditor
        self._shape = shape
        self.is_over = False

    # --- while everything goes wrong ---

    async def meddle(self) -> None:
        chance = self._chance
        era_at = chance.uniform(0.3, 0.8) * self._shape.spread if self._shape.has_new_era else None
        passed = 0.0
        while True:
            wait = chance.uniform(0.5, 3)
            passed += wait
            await sleep(wait)
            if self.is_over:
                return
            try:
                await self._one_act()
                if era_at is not None and passed >= era_at:
                    era_at = None
                    await self._server.ask("new_era", {"actor": _ACTOR, "reason": "a restored file, as far as we know"})
            except (BadRequest, StoreError):
                continue

    async def _one_act(self) -> None:
        acts = (self._pause, self._resume, self._skip, self._replay, self._resolve, self._cancel, self._resolve)
        await self._chance.pick(acts)()

    async def _pause(self) -> None:
        chance = self._chance
        lanes = self._auditor.lane_ids()
        if lanes and chance.happens(0.5):
            tenant, lane = chance.pick(lanes)
            duration = timedelta(seconds=chance.uniform(0.2, 5)) if chance.happens(0.8) else None
            args = {"tenant": tenant, "lane": lane, "duration": duration, "keep_effects": chance.happens(0.5)}
            await self._server.ask("pause", {**args, "actor": _ACTOR})

    async def _resume(self) -> None:
        lanes = self._auditor.lane_ids()
        if lanes:
            tenant, lane = self._chance.pick(lanes)
            await self._server.ask("resume", {"tenant": tenant, "lane": lane, "actor": _ACTOR})

    async def _skip(self) -> None:
        lanes = self._auditor.lane_ids()
        if lanes and self._chance.happens(0.3):
            tenant, lane = self._chance.pick(lanes)
            side = self._chance.pick((Side.TURNS, Side.SENDS))
            await self._server.ask("skip", {"tenant": tenant, "lane": lane, "actor": _ACTOR, "side": side})

    async def _replay(self) -> None:
        asides = await self._server.console.asides(limit=5)
        if asides:
            chosen = self._chance.pick(asides)
            await self._server.ask("replay", {"tenant": chosen.tenant, "event": chosen.id, "actor": _ACTOR})

    async def _cancel(self) -> None:
        pending = [effect for effect in self._auditor.sends.effects.values() if effect.state == "pending"]
        if pending and self._chance.happens(0.4):
            chosen = self._chance.pick(pending)
            args = {"tenant": chosen.tenant, "effect": chosen.draft.id, "actor": _ACTOR}
            await self._server.ask("cancel", args)

    async def _resolve(self) -> None:
        for doubt in await self._server.console.doubts(limit=20):
            if doubt.waits_for.startswith("an operator"):
                await self._decide(doubt)

    async def _decide(self, doubt: EffectView) -> None:
        """As an honest operator does who has looked at the provider's own list."""
        if self._provider.may_take_yet(doubt.id):
            return
        how = "sent" if self._provider.took(doubt.id) else self._chance.pick(("resend", "skip"))
        args = {"tenant": doubt.tenant, "effect": doubt.id, "how": how, "actor": _ACTOR}
        await self._server.ask("resolve", args)

    # --- when everything is well again ---

    async def clean_up(self) -> None:
        """One round. What comes due by itself is left to do so."""
        server = self._server
        try:
            await server.ask("sending", {"paused": False, "actor": _ACTOR})
            for aside in await server.console.asides(limit=500):
                await server.ask("replay", {"tenant": aside.tenant, "event": aside.id, "actor": _ACTOR})
            await self._resolve()
            for phase in (Phase.PARKED, Phase.PAUSED):
                for lane in await server.console.lanes(phase=phase, limit=500):
                    if phase is Phase.PARKED or lane.paused_until is None or lane.paused_until.year == MAXYEAR:
                        await self._free(lane.tenant, lane.lane)
        except (BadRequest, StoreError):
            # Somebody holds it just now: the next round comes.
            return

    async def _free(self, tenant: TenantId, lane: str) -> None:
        await self._server.ask("resume", {"tenant": tenant, "lane": lane, "actor": _ACTOR})
