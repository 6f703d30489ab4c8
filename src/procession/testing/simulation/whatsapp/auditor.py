"""The auditor of a WhatsApp world: hears everything that happens, keeps its own books, and says when a promise did not
hold. Those who speak to it: people and Graph, the store as to what it has really done, and the wire.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from procession.core.effect import EffectState
from procession.core.event import Intake, NewEvent
from procession.core.ids import EffectId, EventId, LaneId, TenantId, event_id
from procession.core.lane import Lease, Side
from procession.core.turn import Settlement
from procession.ports.console import EffectView
from procession.ports.directory import Channel
from procession.ports.store import Swept
from procession.testing.simulation.history import History
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.rare import Rare
from procession.testing.simulation.whatsapp.audit_sends import SendsAudit
from procession.testing.simulation.whatsapp.audit_turns import TurnsAudit
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.said import EventKey, events_in
from procession.testing.simulation.whatsapp.shape import WhatsAppShape
from procession.testing.simulation.whatsapp.subject import Merge, Pause, Subject, end_pause, pause
from procession.testing.simulation.whatsapp.tally import Tally, Wrong
from procession.testing.simulation.whatsapp.tokens import Tokens
from procession.testing.whatsapp.book import Accepted
from procession.testing.whatsapp.webhook import ECHOES, STATUSES

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)
_PARTLY_SEEN: Final = {Rare.CRASH_IN_RECOVERY: Sight.CRASH_IN_RECOVERY}

Said = Any
"""What an operation has answered; each is known to whoever hears of it."""


class WhatsAppAuditor:
    def __init__(self, history: History, shape: WhatsAppShape) -> None:
        self.history = history
        self.tally = Tally(history)
        self.turns = TurnsAudit(self.tally, self._merged)
        self.sends = SendsAudit(self.tally, shape.rules, self._of_lease)
        self.tokens = Tokens(self.tally, shape)
        self.store_now: Callable[[], datetime] = lambda: _BEFORE_ALL
        self._channels = shape.snapshot.channels
        self._accounts = {channel.account: channel for channel in self._channels.values()}
        self._kept: Mapping[str, Callable[[Mapping[str, Any], Said, datetime], None]] = {
            "accept": self._accept,
            "claim_turns": lambda _, answer, at: self.turns.claimed(answer, at),
            "claim_sends": lambda _, answer, at: self.sends.claimed(answer, at),
            "remember": self._remember,
            "settle": self._settle,
            "begin": self._begin,
            "record": self._record,
            "sweep": self._sweep,
            "pause": self._pause,
            "resume": self._resume,
            "skip": self._skip,
            "replay": self._replay,
            "resolve": self._resolve,
            "release": self._release,
        }

    def note(self, who: str, what: str, about: tuple[str, ...], *more: object) -> None:
        self.history.note(who, what, about, *more)

    def seen(self, rare: StrEnum) -> None:
        """What the store's ways have seen is the other worlds' affair, but for some."""
        self.tally.seen(_PARTLY_SEEN.get(rare, rare) if isinstance(rare, Rare) else rare)

    # --- the door ---

    def answered(self, body: bytes, status: int | None) -> None:
        """None: the connection broke, or nothing came in time."""
        if status not in (None, 200, 503):
            self.tally.fail("S20", f"a delivery with a good signature was answered {status}")
        found = list(events_in(body))
        if len({self._accounts[number].tenant for number, _, _ in found}) > 1:
            self.seen(Sight.BATCH_MIXES_TENANTS)
        for number, element, part in found if status == 200 else ():
            if part == STATUSES:
                continue
            channel = self._accounts[number]
            name = f"echo:{element['id']}" if part == ECHOES else element["id"]
            key: EventKey = (channel.tenant, event_id(channel.tenant, channel.name, name))
            self.turns.answered_2xx.add(key)
            if key not in self.turns.known:
                self.tally.wrong(Wrong.LOST, "S20", f"{name} was answered 200, and is not kept", key[1])

    # --- the store ---

    def kept(self, name: str, args: Mapping[str, Any], answer: object, at: datetime) -> None:
        hears = self._kept.get(name)
        if hears is not None:
            hears(args, answer, at)

    def reopened(self) -> None:
        """What was held is free: claims tell."""

    def _channel(self, new: NewEvent) -> Channel:
        return self._channels[new.tenant, new.channel]

    def _accept(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        intake: Intake = args["intake"]
        self.turns.accept(intake, [placement.fresh for placement in answer.placements], self._channel, at)
        for sighting in intake.sightings:
            self.sends.sighted(sighting, at)

    def _remember(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        subject = self.turns.remembered(args["lease"], args["turn"], answer)
        if subject is not None:
            self.sends.asked(subject, args["turn"], args.get("flush", ()), at)

    def _settle(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        settlement: Settlement = args["settlement"]
        subject = self.turns.settled(settlement, answer, at)
        if subject is not None:
            self.sends.asked(subject, settlement.turn, settlement.effects, at)

    def _begin(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        self.sends.began(args["lease"], args["effect"], args["attempt"], answer, at)

    def _record(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        self.sends.recorded(args["lease"], args["effect"], args["attempt"], args["verdict"], answer, at)

    def _sweep(self, _args: Mapping[str, Any], answer: Said, _at: datetime) -> None:
        swept: Swept = answer
        self.tally.seen(Sight.TAKEOVER_WHILE_ARMED, swept.doubted)
        self.tally.seen(Sight.DOUBT_PARKED, swept.doubts_parked)
        self.tally.seen(Sight.DOUBT_RESENT, swept.doubts_resent)
        self.tally.seen(Sight.DOUBT_SKIPPED, swept.doubts_skipped)

    def _of_lease(self, lease: Lease) -> Subject | None:
        return self.turns.by_lane.get((lease.tenant, lease.lane))

    def _merged(self, heir: Subject, merge: Merge) -> None:
        self.sends.merged(heir, merge)

    # --- operators ---

    def _pause(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        """X1: whoever pauses one of those that were merged means all."""
        subject = self.turns.by_lane.get((args["tenant"], args["lane"]))
        if answer and subject is not None:
            self.note("operator", "lane pause", (args["lane"],), args["duration"])
            for each in subject.last.family():
                pause(each, Pause(begun_at=at, until=at + args["duration"], keeps=args["keep_effects"]))

    def _resume(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        tenant: TenantId = args["tenant"]
        lane: LaneId = args["lane"]
        subject = self.turns.by_lane.get((tenant, lane))
        if answer and subject is not None:
            self.note("operator", "lane resume", (lane,))
            for each in subject.last.family():
                end_pause(each, at)

    def _skip(self, args: Mapping[str, Any], answer: Said, _at: datetime) -> None:
        if answer is None:
            return
        self.note("operator", "lane skip", (args["lane"], answer))
        if args.get("side", Side.TURNS) is Side.TURNS:
            self.turns.skipped(args["tenant"], EventId(answer))
        else:
            self.sends.skipped(EffectId(answer))

    def _replay(self, args: Mapping[str, Any], answer: Said, _at: datetime) -> None:
        if answer:
            self.turns.replayed(args["tenant"], args["event"])

    def _resolve(self, args: Mapping[str, Any], answer: Said, at: datetime) -> None:
        if answer:
            self.note("operator", "doubt resolve", (args["effect"],), args["how"])
            self.sends.resolved(args["effect"], args["how"], at)

    def _release(self, args: Mapping[str, Any], answer: Said, _at: datetime) -> None:
        """The store's own `release` is of leases; the console's is of what holds a tenant's sends back."""
        if "tenant" in args and answer:
            self.note("operator", "release", (args["tenant"],))
            if args["tenant"] in self.sends.halted:
                self.sends.halted.discard(args["tenant"])
                self.seen(Sight.HALTED_AND_RELEASED)

    # --- the wire, Graph ---

    def wired(self, node: Node, effect: EffectId | None, account: str, token: str) -> int:
        """The first byte goes out. Answers the attempt that it is."""
        own = None if effect is None else self.sends.effects.get(effect)
        if own is None:
            self.tokens.check(account, token, self.store_now())
            return 0
        self.note(repr(node), "sends", (own.id,))
        about = (own.id, own.subject.lane or "")
        channel = self._channels[own.tenant, own.draft.channel]
        if channel.account != account:
            text = f"{own.tenant} sends from number {account}, and its own is {channel.account}"
            self.tally.wrong(Wrong.CROSS_TENANT, "S12", text, *about)
        self.tokens.check(account, token, self.store_now())
        if own.attempts == 0 or own.armed_by != repr(node):
            self.tally.fail("S8", f"it is sent by {node!r}, and {own.armed_by or 'nobody'} has begun it", *about)
        if own.attempts in own.wired:
            self.tally.fail("S8", f"attempt {own.attempts} is sent twice", *about)
        own.wired.add(own.attempts)
        return own.attempts

    def took(self, accepted: Accepted, attempt: int, *, is_late: bool) -> None:
        if is_late:
            self.seen(Sight.LATE_ACCEPT)
        self.sends.evidence.took(accepted, attempt, self.store_now())

    # --- doubts are shown ---

    def check_doubts(self, views: Sequence[EffectView], longest: float) -> None:
        """L6: what was begun so long ago is known to have been taken or not, or an operator can see that it is not."""
        now, shown = self.history.now, {view.id for view in views}
        for own in self.sends.effects.values():
            is_told = own.id in shown or own.is_harmless or own.is_skippable(self.store_now())
            if is_told or not own.is_open or now - own.open_since <= longest:
                continue
            text = f"it was begun {now - own.open_since:.0f} s ago, nobody knows what became of it, and nobody is told"
            self.tally.fail("L6", text, own.id, own.subject.lane or "")

    # --- nodes ---

    def node_starts(self, node: Node) -> None:
        self.note(repr(node), "starts", ())

    def node_died(self, node: Node, why: str) -> None:
        self.note(repr(node), "dies", (), why)
        for own in self.sends.effects.values():
            if own.state is EffectState.ARMED and own.armed_by == repr(node) and own.attempts not in own.wired:
                self.seen(Sight.CRASH_BETWEEN_ARM_AND_WIRE)
