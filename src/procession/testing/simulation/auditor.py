"""The auditor: hears everything that happens, keeps its own books, and says when a rule did not hold.

It is apart from the workload and from the world. Three kinds of witnesses speak to it: those outside of the engine (who
posts, who receives), the store as to what it has really done, in that order, and the handlers. It never asks the
engine.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from procession.core.event import Intake
from procession.core.ids import EffectId, EventId, LaneId, TenantId
from procession.core.lane import Lease, Side
from procession.core.turn import Advance, HeldTurn, Settlement
from procession.ports.store import Swept
from procession.ports.wire import WireRequest
from procession.testing.simulation.audit_intake import IntakeAudit, Posted
from procession.testing.simulation.audit_sends import SendsAudit
from procession.testing.simulation.audit_turns import FOREVER, TurnsAudit
from procession.testing.simulation.effect_book import Pause
from procession.testing.simulation.history import History
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.rare import Rare, RareCounts
from procession.testing.simulation.shape import Shape, canary
from procession.testing.simulation.workload import Workload

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


Said = Any
"""What an operation has answered; each is known to whoever hears of it."""


class Auditor:
    def __init__(self, history: History, shape: Shape, workload: Workload) -> None:
        self.history = history
        self.rare: RareCounts = RareCounts()
        self.intake = IntakeAudit(history, workload, self.rare)
        self.turns = TurnsAudit(history, self.intake, shape.tenants, self.rare)
        self.sends = SendsAudit(history, self.rare)
        self.audited: dict[str, int] = {}
        """Operators' verbs that changed something."""
        self.store_now: Callable[[], datetime] = lambda: _BEFORE_ALL
        self._shape = shape
        self._kept: Mapping[str, Callable[[Mapping[str, Any], Said, datetime], None]] = {
            "accept": self._accept,
            "claim_turns": lambda args, answer, at: self.turns.claimed(args["ask"], answer, at),
            "claim_sends": lambda args, answer, at: self.sends.claimed(answer, at + args["ask"].ttl, at),
            "renew": self._renew,
            "remember": self._remember,
            "settle": self._settle,
            "release": self._release,
            "begin": self._begin,
            "record": lambda args, answer, at: self.sends.recorded(**args, answer=answer, at=at),
            "sweep": self._sweep,
            "prune": _nothing,
            "pause": self._pause,
            "resume": self._resume,
            "skip": self._skip,
            "replay": self._replay,
            "resolve": self._resolve,
            "cancel": self._cancel,
            "sending": self._sending,
            "new_era": self._new_era,
        }

    def note(self, who: str, what: str, about: tuple[str, ...], *more: object) -> None:
        self.history.note(who, what, about, *more)

    def seen(self, rare: StrEnum) -> None:
        assert isinstance(rare, Rare)
        self.rare[rare] += 1

    # --- the door ---

    def posted(self, number: int, node: str, posted: Posted) -> None:
        self.history.note(
            node, "post", (f"r{number}", *(event.id for event in posted.elements)), "good" if posted.is_good else "bad"
        )
        self.intake.posted(number, posted)

    def answered(self, number: int, status: int | None) -> None:
        self.history.note("source", "answer", (f"r{number}",), status)
        self.intake.answered(number, status)

    # --- the store ---

    def kept(self, name: str, args: Mapping[str, Any], answer: object, at: datetime) -> None:
        self._kept[name](args, answer, at)

    def reopened(self) -> None:
        self.turns.reopened()
        self.sends.reopened(_BEFORE_ALL)

    def _accept(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        intake: Intake = args["intake"]
        self.intake.accept(intake, answer, at)
        for sighting in intake.sightings:
            self.sends.sighted(sighting, at)

    def _renew(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        lost = set(answer)
        until = at + args["ttl"]
        for lease in args["leases"]:
            side = self.turns if lease.side is Side.TURNS else self.sends
            self.history.note(lease.worker, "renews", (lease.lane,), lease.side, "lost" if lease in lost else "")
            side.renewed(lease, until, lost=lease in lost)

    def _remember(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        lease: Lease = args["lease"]
        if self.turns.remembered(lease, args["turn"], args.get("steps", ()), answer):
            self.sends.asked(lease.tenant, args["turn"], args.get("flush", ()), at)

    def _settle(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        settlement: Settlement = args["settlement"]
        if not self.turns.settled(settlement, answer, at) or not isinstance(settlement.outcome, Advance):
            return
        lease = settlement.lease
        self.sends.asked(lease.tenant, settlement.turn, settlement.effects, at)
        for effect in settlement.cancel_effects:
            self.sends.cancelled(lease.tenant, effect)
        if settlement.pause is not None:
            until = FOREVER if settlement.pause.duration is None else at + settlement.pause.duration
            pause = Pause(begun_at=at, until=until, passes=0, keeps=settlement.pause.keep_effects)
            self.sends.paused(lease.tenant, lease.lane, pause, passes_all=True)

    def _release(self, args: Mapping[str, Any], _answer: Said, at: datetime) -> None:
        leases: Sequence[Lease] = args["leases"]
        for lease in leases:
            self.history.note(lease.worker, "releases", (lease.lane,), lease.side, f"epoch {lease.epoch}")
        self.turns.released([lease for lease in leases if lease.side is Side.TURNS], uncount=args.get("uncount", True))
        self.sends.released([lease for lease in leases if lease.side is Side.SENDS], at)

    def _begin(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        """At which pace the channel may send is looked at in WhatsApp's worlds: here no channel has one."""
        self.sends.began(args["lease"], args["effect"], args["attempt"], answer, at)

    def _sweep(self, _args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        swept: Swept = answer
        self.turns.swept(at)
        self.sends.swept(at)
        self.rare[Rare.DOUBT_PARKED] += swept.doubts_parked

    # --- operators ---

    def _count(self, verb: str, about: str, *more: object) -> None:
        self.audited[verb] = self.audited.get(verb, 0) + 1
        self.history.note("operator", verb, (about,), *more)

    def _pause(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        if not answer:
            return
        tenant, lane, duration = args["tenant"], args["lane"], args["duration"]
        self._count("lane pause", lane, duration)
        until = FOREVER if duration is None else at + duration
        self.turns.paused(tenant, lane, until)
        pause = Pause(begun_at=at, until=until, passes=0, keeps=args.get("keep_effects", False))
        self.sends.paused(tenant, lane, pause, passes_all=False)

    def _resume(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        if answer:
            self._count("lane resume", args["lane"])
            self.turns.resumed(args["tenant"], args["lane"])
            self.sends.resumed(args["tenant"], args["lane"], at)

    def _skip(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        if answer is None:
            return
        self._count("lane skip", args["lane"], answer)
        if args.get("side", Side.TURNS) is Side.TURNS:
            self.turns.skipped(args["tenant"], args["lane"], answer, at)
        else:
            self.sends.skipped(args["tenant"], answer)

    def _replay(self, args: Mapping[str, Any], answer: Said, _at: datetime) -> None:
        if answer:
            self._count("aside replay", args["event"])
            self.turns.replay(args["tenant"], args["event"])

    def _resolve(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        if answer:
            self._count("doubt resolve", args["effect"], args["how"])
            self.sends.resolved(args["effect"], args["how"], at)

    def _cancel(self, args: Mapping[str, Any], answer: Said, _at: datetime) -> None:
        if answer:
            self._count("effect cancel", args["effect"])
            self.sends.cancelled(args["tenant"], args["effect"])

    def _sending(self, args: Mapping[str, Any], answer: Said, _at: datetime) -> None:
        if answer:
            self._count("sending", "all", args["paused"])
            self.sends.sending_paused = args["paused"]

    def _new_era(self, _args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        self._count("era", "all", answer)
        self.turns.new_era(answer)
        self.sends.new_era(answer, at)

    # --- handlers ---

    def started(self, node: Node, held: HeldTurn, *, in_thread: bool = False) -> None:
        self.turns.started(repr(node), held, None if in_thread else self.store_now())
        for event in held.events:
            for tenant in self._shape.tenants:
                if tenant != event.tenant and canary(tenant).encode() in event.payload:
                    self.history.fail("S12", f"a handler of {event.tenant} sees what is {tenant}'s", event.id)

    def ended(self, node: Node, turn: EventId) -> None:
        self.turns.ended(repr(node), turn)

    def step_called(self, node: Node, held: HeldTurn, name: str, occurrence: int) -> None:
        self.history.note(repr(node), "step", (held.id, held.lease.lane), name, occurrence)
        self.turns.step_called(held, name, occurrence, self.store_now())

    def handler_failed(self, turn: EventId) -> None:
        self.turns.failures[turn] += 1

    def poisoned(self, node: Node, turn: EventId) -> None:
        self.history.note(repr(node), "dies", (turn,), "killed by its handler")
        self.seen(Rare.POISON_KILLS_PROCESS)

    # --- the wire ---

    def wired(self, node: Node, effect: EffectId, request: WireRequest, *, is_probe: bool) -> int:
        """The attempt that this is."""
        own = self.sends.wired(repr(node), effect, self.store_now(), is_probe=is_probe)
        if own is None:
            return 0
        self._check_credentials(own.tenant, effect, request)
        if not is_probe and request.body != own.draft.payload:
            self.history.fail("S9", "what is sent is not what was asked for", effect)
        return own.attempts

    def _check_credentials(self, tenant: TenantId, effect: EffectId, request: WireRequest) -> None:
        everything = "\n".join([request.url, *(f"{name}: {value}" for name, value in request.headers)])
        token = dict(request.headers).get("authorization")
        if token is not None and canary(tenant) not in token:
            self.history.fail("S13", f"{tenant} sends with a credential that is not its own", effect)
        for other in self._shape.tenants:
            if other != tenant and (canary(other) in everything or f"//{other}.test" in request.url):
                self.history.fail("S12", f"a send of {tenant} goes out as {other}", effect)

    def took(self, effect: EffectId, attempt: int, tenant: TenantId, body: bytes) -> None:
        self.sends.took(effect, attempt, tenant, body)

    def took_late(self, effect: EffectId) -> None:
        self.history.note("provider", "late", (effect,))
        self.seen(Rare.LATE_ACCEPT)

    # --- nodes ---

    def node_starts(self, node: Node) -> None:
        self.history.note(repr(node), "starts", ())

    def node_died(self, node: Node, why: str) -> None:
        self.history.note(repr(node), "dies", (), why)
        self.sends.died(repr(node))
        self.turns.died(repr(node))

    def lane_ids(self) -> list[tuple[TenantId, LaneId]]:
        return list(self.turns.lanes)


def _nothing(_args: Mapping[str, Any], _answer: Said, _at: datetime) -> None:
    """Forgetting what is old concerns nobody here."""
