"""The state machine: everything that stages and operators can do to a store, in any order, with leases that are stale.

After each step all that can be seen is compared between the stores and with the invariants. At the end the world
heals: leases run out, operators resume and resolve, and then everything has to come to its end.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from random import Random
from typing import TypeVar

from hypothesis import event as noted
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from procession.core.effect import EffectDraft, EffectState
from procession.core.event import EventState, NewEvent
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId, WorkerId
from procession.core.lane import Phase, Side
from procession.core.limits import DEDUP_KEEP_MIN
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect, HeldTurn, Settled
from procession.core.verdict import Confirmed, Fate, Verdict
from tests.conformance.builders import (
    ACME,
    BOLT,
    MAIN,
    MANY,
    ONE,
    OPERATOR,
    OTHER,
    TTL,
    a_settlement,
    a_snapshot,
    a_tenant,
    an_ask,
    an_event,
    an_intake,
    seconds,
    some_terms,
)
from tests.conformance.harness import Harness
from tests.conformance.picture import Picture
from tests.properties import alphabet as draws
from tests.properties.alphabet import Draw, seldom
from tests.properties.answers import all_has_ended, another_suspect_of_equal_rank, by_lane, new_era, nexts, swept
from tests.properties.invariants import Watch
from tests.properties.pair import Both, Pair
from tests.properties.weights import WEIGHTS

T = TypeVar("T")

Act = Callable[[Harness, int], Awaitable[object]]

ROUNDS_MAX = 40
"""Until all has ended."""


class LineMachine(RuleBasedStateMachine):
    """Subclasses say over which stores: the first is the reference."""

    def harnesses(self) -> Sequence[Harness]:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(self.harnesses())
        self.watch = Watch()
        self.turns: list[Both[HeldTurn]] = []
        self.sends: list[Both[HeldEffect]] = []
        self.begun: dict[int, int] = {}
        """By place in `sends`: the attempt that was begun under that lease."""
        self.known: dict[str, None] = {}
        """Events by id, so that their lives can be looked at after they ended."""
        self.effects: dict[tuple[TenantId, EffectId], None] = {}
        self.parted = False
        """The stores differ where the contract lets them: from here on nothing can be compared."""
        self.heals = False
        """At the end it is looked at less often: the pictures are what costs time."""

    @rule(
        act=st.sampled_from([act for act, weight in WEIGHTS.items() for _ in range(weight)]), seed=st.integers(0, 2**32)
    )
    def step(self, act: str, seed: int) -> None:
        getattr(self, act)(Random(seed))

    # --- what workers mostly do, in one step, so that examples come far ---

    def play(self, draw: Draw) -> None:
        """Claim what is ready, and end most of it."""
        before = len(self.turns)
        suspects = seldom(draw, 5)
        self._claim_turns(draw.choice([ONE, OTHER]), TTL, suspects=suspects, alone=suspects)
        for turn in self.turns[before:]:
            if not seldom(draw):
                self._settle(turn, draw)

    def perform(self, draw: Draw) -> None:
        """Claim what may be sent, and send or probe most of it."""
        before = len(self.sends)
        self._claim_sends(draw.choice([ONE, OTHER]), TTL)
        for place in range(before, len(self.sends)):
            if not seldom(draw):
                self._begin(place, draws.pace(draw))
            if not seldom(draw):
                self._record(place, draw)

    def hurry(self, draw: Draw) -> None:
        """Several conversations want to send at once under one pace, and what their provider answers may be about all
        of them.
        """
        self._accept(*(an_event(draw.randint(10, 99), lane=lane, hears=True) for lane in ("ann", "bob", "chat")))
        turns, sends = len(self.turns), len(self.sends)
        self._claim_turns(ONE, TTL, suspects=False, alone=False)
        for turn in self.turns[turns:]:
            self._reply(turn, draw)
        pace = draws.pace(draw)
        for _ in range(draw.randint(1, 3)):
            self._claim_sends(ONE, TTL)
            for place in range(sends, len(self.sends)):
                self._begin(place, pace)
                self._record(place, draw, draws.about_others(draw))
            sends = len(self.sends)
            self.pair.advance(draw.choice([timedelta(milliseconds=100), *draws.SPANS]))
            self.sweep(draw)

    def _reply(self, turn: Both[HeldTurn], draw: Draw) -> None:
        tenant = turn.first.lease.tenant
        effects = tuple(draws.draft(draw, tenant, turn.first.id, some_terms()) for _ in range(draw.randint(1, 3)))
        self.effects.update(dict.fromkeys((tenant, effect.id) for effect in effects))
        self.agree(lambda harness, at: harness.store.settle(a_settlement(turn.each[at], effects=effects)))

    def overtake(self, draw: Draw) -> None:
        """A worker sleeps past its leases, another goes on with its lanes, and then the first wakes up."""
        self._claim_turns(ONE, TTL, suspects=False, alone=False)
        self._claim_sends(ONE, TTL)
        turns, sends = len(self.turns), len(self.sends)
        self._sleep_past_each_lease(draw)
        self._claim_turns(OTHER, TTL, suspects=True, alone=False)
        self._claim_sends(OTHER, TTL)
        for turn in self.turns[max(0, turns - 3) : turns]:
            if draw.random() < 0.5:
                self._settle(turn, draw)
            else:
                self._remember(turn, draw)
        for place in range(max(0, sends - 3), sends):
            self._begin(place, draws.pace(draw))
            self._record(place, draw)

    def unite(self, draw: Draw) -> None:
        """Three people turn out to be one, while each of them has something open or waiting."""
        tenant, people = draws.a_tenant_of(draw), draw.sample(draws.PEOPLE, 3)
        for person in people:
            self._accept(draws.of_person(draw, tenant, person))
        turns, sends = len(self.turns), len(self.sends)
        self._claim_turns(ONE, TTL, suspects=False, alone=False)
        for turn in self.turns[turns:]:
            if draw.random() < 0.5:
                self._settle(turn, draw, draws.effects_of(draw, tenant, turn.first.id, people))
        self._claim_sends(ONE, TTL)
        for place in range(sends, len(self.sends)):
            if draw.random() < 0.5:
                self._begin(place, None)
        if draw.random() < 0.5:
            self._accept(*(draws.of_person(draw, tenant, person) for person in people))
        self._accept(draws.of_person(draw, tenant, *draw.sample(people, 2)))
        self._accept(draws.of_person(draw, tenant, *draw.sample(people, 2)))

    def _accept(self, *new: NewEvent) -> None:
        self.known.update(dict.fromkeys(event.id for event in new))
        self.agree(lambda harness, _: harness.store.accept(an_intake(*new)))

    def all_at_once(self, draw: Draw) -> None:
        """Deliveries, ends of turns and sends come in while one another are under way."""
        self._claim_turns(ONE, TTL, suspects=False, alone=False)
        acts: list[Act] = [self._settling(turn, draw) for turn in self.turns[-3:]]
        acts += [self._accepting(draw) for _ in range(draw.randint(1, 3))]
        acts += [self._beginning(send, draw) for send in self.sends[-2:]]
        draw.shuffle(acts)
        for answers in self.pair.do_at_once(acts):
            self._keep_what_was_kept(answers)
            if not self.parted:
                self.pair.compare(answers)
        if not self.parted:
            self.look()

    def _settling(self, turn: Both[HeldTurn], draw: Draw) -> Act:
        tenant, outcome = turn.first.lease.tenant, draws.outcome(draw)
        words = draws.settlement_words(draw, tenant, turn.first.id, list(self.effects))
        self.effects.update(dict.fromkeys((tenant, effect.id) for effect in words["effects"]))
        return lambda harness, at: harness.store.settle(a_settlement(turn.each[at], outcome, **words))

    def _accepting(self, draw: Draw) -> Act:
        new = [draws.event(draw) for _ in range(draw.randint(1, 3))]
        self.known.update(dict.fromkeys(event.id for event in new))
        return lambda harness, _: harness.store.accept(an_intake(*new))

    def _beginning(self, send: Both[HeldEffect], draw: Draw) -> Act:
        pace = draws.pace(draw)
        return lambda harness, at: harness.store.begin(
            send.each[at].lease, send.each[at].effect.id, send.each[at].effect.attempts + 1, pace
        )

    def _keep_what_was_kept(self, answers: Both[object]) -> None:
        """What a settlement claimed in the same write is held from now on."""
        held = [answer.next for answer in answers.each if isinstance(answer, Settled)]
        if held:
            self._keep_turns(nexts(held))

    def _sleep_past_each_lease(self, draw: Draw) -> None:
        """One by one: which of several that died at one moment is suspected first, the contract leaves open."""
        held: list[Both[HeldTurn] | Both[HeldEffect]] = [*self.turns, *self.sends]
        for later, one in enumerate(held[-8:], 1):
            self._renew([one], seconds(later))
        for _ in range(8):
            self.pair.advance(seconds(1))
            self.sweep(draw)
        self.pair.advance(TTL)
        self.sweep(draw)

    # --- the line, step by step ---

    def accept(self, draw: Draw) -> None:
        new = [draws.event(draw) for _ in range(draw.randint(1, 4))]
        seen = (draws.sighting(draw, list(self.effects)),) if seldom(draw, 4) else ()
        bodies = (draws.quarantined(draw),) if seldom(draw) else ()
        self.known.update(dict.fromkeys(event.id for event in new))
        intake = an_intake(*new, sightings=seen, quarantined=bodies)
        for _ in self.once_or_twice(draw):
            self.agree(lambda harness, _: harness.store.accept(intake))

    def sight(self, draw: Draw) -> None:
        sighting = draws.sighting(draw, list(self.effects))
        for _ in self.once_or_twice(draw):
            self.agree(lambda harness, _: harness.store.accept(an_intake(sightings=(sighting,))))

    def claim_turns(self, draw: Draw) -> None:
        self._claim_turns(
            draw.choice([ONE, OTHER]), draw.choice([TTL, seconds(3)]), suspects=seldom(draw, 3), alone=seldom(draw, 3)
        )

    def _claim_turns(self, worker: WorkerId, ttl: timedelta, *, suspects: bool, alone: bool) -> None:
        ask = an_ask(MANY, worker=worker, ttl=ttl, suspects=suspects, alone=alone)
        answers = self.pair.do(lambda harness, _: harness.store.claim_turns(ask))
        if suspects and another_suspect_of_equal_rank(answers.each):
            self.parted = True
            noted("parted")
        self._compare(answers)
        self._keep_turns(by_lane(answers.each))

    def claim_sends(self, draw: Draw) -> None:
        self._claim_sends(draw.choice([ONE, OTHER]), draw.choice([TTL, seconds(3)]))

    def _claim_sends(self, worker: WorkerId, ttl: timedelta) -> None:
        ask = an_ask(MANY, worker=worker, ttl=ttl)
        answers = self.agree(lambda harness, _: harness.store.claim_sends(ask))
        self._keep_sends(by_lane(answers.each))

    def settle(self, draw: Draw) -> None:
        """Any of the newest leases, held or lost."""
        if self.turns:
            self._settle(_recent(self.turns, draw), draw)

    def _settle(self, turn: Both[HeldTurn], draw: Draw, effects: tuple[EffectDraft, ...] = ()) -> None:
        lease = turn.first.lease
        outcome = draws.outcome(draw)
        words = draws.settlement_words(draw, lease.tenant, turn.first.id, list(self.effects))
        words["effects"] = effects or words["effects"]
        settlements = [a_settlement(each, outcome, **words) for each in turn.each]
        self.effects.update(dict.fromkeys((lease.tenant, effect.id) for effect in words["effects"]))
        for _ in self.once_or_twice(draw):
            answers = self.agree(lambda harness, at: harness.store.settle(settlements[at]))
            self._keep_turns(nexts([answer.next for answer in answers.each]))
            noted(f"settle {type(outcome).__name__} {answers.first.fate}")

    def remember(self, draw: Draw) -> None:
        if self.turns:
            self._remember(_recent(self.turns, draw), draw)

    def _remember(self, turn: Both[HeldTurn], draw: Draw) -> None:
        tenant = turn.first.lease.tenant
        steps = draws.several(draw, 2, draws.step)
        flush = draws.several(draw, 2, lambda own: draws.draft(own, tenant, turn.first.id))
        self.effects.update(dict.fromkeys((tenant, effect.id) for effect in flush))
        for _ in self.once_or_twice(draw):
            fate = self.agree(
                lambda harness, at: harness.store.remember(turn.each[at].lease, turn.each[at].id, steps, flush)
            )
            noted(f"remember {fate.first}")

    def release(self, draw: Draw) -> None:
        held = self._some(draw)
        uncount = draw.random() < 0.5
        for _ in self.once_or_twice(draw):
            self.agree(
                lambda harness, at: harness.store.release([each.each[at].lease for each in held], uncount=uncount)
            )

    def renew(self, draw: Draw) -> None:
        self._renew(self._some(draw), draw.choice([TTL, seconds(3), seconds(30)]))

    def _renew(self, held: Sequence[Both[HeldTurn] | Both[HeldEffect]], ttl: timedelta) -> None:
        answers = self.agree(lambda harness, at: harness.store.renew([each.each[at].lease for each in held], ttl))
        noted(f"renew lost {len(answers.first)} of {len(held)}")

    def begin(self, draw: Draw) -> None:
        if self.sends:
            for _ in self.once_or_twice(draw):
                self._begin(_recent_place(self.sends, draw), draws.pace(draw))

    def _begin(self, place: int, pace: Pace | None) -> None:
        send = self.sends[place]
        attempt = send.first.effect.attempts + 1
        answers = self.agree(
            lambda harness, at: harness.store.begin(send.each[at].lease, send.each[at].effect.id, attempt, pace)
        )
        if isinstance(answers.first, Began):
            self.begun[place] = attempt
            noted("begun")
        else:
            noted(f"begin {answers.first.fate} {answers.first.reason}")

    def record(self, draw: Draw) -> None:
        if self.sends:
            self._record(_recent_place(self.sends, draw), draw)

    def _record(self, place: int, draw: Draw, answered: Verdict | None = None) -> None:
        """The verdict of what was begun under this lease, or what a probe found."""
        send = self.sends[place]
        if place in self.begun:
            verdict, attempt = answered or draws.verdict(draw), self.begun[place]
        elif send.first.effect.state is EffectState.DOUBT:
            verdict, attempt = draws.finding(draw), send.first.effect.attempts
        else:
            return
        ttl = draw.choice([None, TTL])
        for _ in self.once_or_twice(draw):
            answers = self.agree(
                lambda harness, at: harness.store.record(
                    send.each[at].lease, send.each[at].effect.id, attempt, verdict, ttl
                )
            )
            self._keep_sends(nexts([answer.next for answer in answers.each]))
            noted(f"record {type(verdict).__name__} {answers.first.fate}")

    # --- time ---

    def pass_time(self, draw: Draw) -> None:
        self.pair.advance(draws.a_span(draw))
        if draw.random() < 0.7:
            self.sweep(draw)

    def sweep(self, draw: Draw) -> None:
        answers = self.agree(lambda harness, _: swept(harness))
        for name in ("deaths", "doubted", "released", "reminded", "gates_expired"):
            if getattr(answers.first, name):
                noted(f"sweep {name}")

    def pass_long_time(self, draw: Draw) -> None:
        """Days: nobody repeats a write of before, and what has ended is forgotten."""
        self.pair.advance(draw.choice(draws.LONG_SPANS))
        self.sweep(draw)
        self.turns, self.sends, self.begun = [], [], {}
        self.watch.forget()
        self.agree(lambda harness, _: harness.store.prune(DEDUP_KEEP_MIN, MANY))

    def restart(self, draw: Draw) -> None:
        """What was held at the end is given up by the time that anybody claims again, whichever way a store does it."""
        self.pair.reopen()
        self.pair.advance(seconds(31))
        self.sweep(draw)

    # --- the operator's hand ---

    def pause(self, draw: Draw) -> None:
        tenant, wanted = draws.a_tenant_of(draw), draws.pause(draw)
        lane = draws.a_lane_id(draw, tenant)
        self.agree(
            lambda harness, _: harness.console.pause(
                tenant, lane, wanted.duration, actor=OPERATOR, keep_effects=wanted.keep_effects
            )
        )

    def resume(self, draw: Draw) -> None:
        tenant = draws.a_tenant_of(draw)
        self._resume(tenant, draws.a_lane_id(draw, tenant))

    def _resume(self, tenant: TenantId, lane: LaneId) -> None:
        self.agree(lambda harness, _: harness.console.resume(tenant, lane, actor=OPERATOR))

    def skip(self, draw: Draw) -> None:
        tenant, side = draws.a_tenant_of(draw), draw.choice(list(Side))
        lane = draws.a_lane_id(draw, tenant)
        self.agree(lambda harness, _: harness.console.skip(tenant, lane, actor=OPERATOR, side=side))

    def replay(self, draw: Draw) -> None:
        asides = self._asides()
        if asides and not self.parted:
            tenant, event = draw.choice(asides)
            drops = seldom(draw, 5)
            for _ in self.once_or_twice(draw):
                self._replay(tenant, event, drops=drops)

    def _replay(self, tenant: TenantId, event: EventId, *, drops: bool) -> None:
        if drops:
            answers = self.agree(lambda harness, _: harness.console.aside_drop(tenant, event, actor=OPERATOR))
        else:
            answers = self.agree(lambda harness, _: harness.console.replay(tenant, event, actor=OPERATOR))
        noted(f"replay {answers.first}, dropped: {drops}")

    def resolve(self, draw: Draw) -> None:
        if self.effects:
            self._resolve(*draw.choice(list(self.effects)), draw.choice(["sent", "resend", "skip"]))

    def _resolve(self, tenant: TenantId, effect: EffectId, how: str) -> None:
        self.agree(lambda harness, _: harness.console.resolve(tenant, effect, how, actor=OPERATOR))

    def cancel(self, draw: Draw) -> None:
        if self.effects:
            tenant, effect = draw.choice(list(self.effects))
            self.agree(lambda harness, _: harness.console.cancel(tenant, effect, actor=OPERATOR))

    def stop_sending(self, draw: Draw) -> None:
        self._let_send(paused=seldom(draw, 3))

    def _let_send(self, *, paused: bool) -> None:
        self.agree(lambda harness, _: harness.console.sending(paused=paused, actor=OPERATOR))

    def release_halts(self, draw: Draw) -> None:
        channel = draw.choice([MAIN, None])
        self._release(draws.a_tenant_of(draw), channel)

    def _release(self, tenant: TenantId, channel: ChannelName | None) -> None:
        answers = self.agree(lambda harness, _: harness.console.release(tenant, channel, actor=OPERATOR))
        noted(f"release {answers.first}")

    def begin_a_new_era(self, draw: Draw) -> None:
        if seldom(draw, 3):
            self.agree(lambda harness, _: new_era(harness))
            self._let_send(paused=False)

    def look_into_quarantine(self, draw: Draw) -> None:
        body, event = draws.quarantined(draw), draws.event(draw)
        if draw.random() < 0.5:
            self.agree(lambda harness, _: harness.console.quarantine_drop(body.id, actor=OPERATOR))
            return
        self.known[event.id] = None
        self.agree(lambda harness, _: harness.console.quarantine_routed(body.id, an_intake(event), actor=OPERATOR))

    def change_the_directory(self, draw: Draw) -> None:
        bolt = a_tenant(BOLT, weight=2, active=not seldom(draw, 4))
        wanted = a_snapshot(a_tenant(ACME, weight=draw.randint(1, 5)), bolt)
        self.agree(lambda harness, _: harness.directory.change(wanted, actor=OPERATOR))

    # --- after each step ---

    def agree(self, act: Callable[[Harness, int], Awaitable[T]]) -> Both[T]:
        """Act on each store: the answers agree, and so does everything that can be seen."""
        answers = self.pair.do(act)
        self._compare(answers)
        return answers  # type: ignore[return-value]  # a refusal is only looked at where a verb may answer one

    def _compare(self, answers: Both[T]) -> None:
        if not self.parted:
            self.pair.compare(answers)
            if not self.heals:
                self.look()

    def look(self) -> Picture:
        picture = self.pair.look(list(self.known))
        self.watch.saw(picture)
        return picture

    def once_or_twice(self, draw: Draw) -> range:
        """Now and then an act is repeated with the same words, as after an unknown outcome (G4)."""
        return range(2 if seldom(draw, 6) else 1)

    # --- at the end ---

    def teardown(self) -> None:
        try:
            if not self.parted:
                self.heals = True
                self._heal()
        finally:
            self.pair.close()

    def _heal(self) -> None:
        """Everybody who could hold something up lets go: then all of it comes to its end, in order."""
        self._let_send(paused=False)
        everybody = a_snapshot(a_tenant(ACME), a_tenant(BOLT))
        self.agree(lambda harness, _: harness.directory.change(everybody, actor=OPERATOR))
        for _ in range(ROUNDS_MAX):
            for _ in range(3):
                self.pair.advance(seconds(15))
                self.sweep(Random(0))
            self._operators_let_go()
            worked = self._play_all()
            while worked and self._play_all():  # looking is what costs time: first all is played that can be now
                pass
            if self.parted or (not worked and all_has_ended(self.look())):
                return
        raise AssertionError(f"something never came to its end: {self.look()}")

    def _operators_let_go(self) -> None:
        picture = self.look()
        lanes, doubts = picture["lanes"], picture["doubts"]
        assert isinstance(lanes, dict)
        assert isinstance(doubts, list)
        for sides in lanes.values():
            if any(view.phase in (Phase.PARKED, Phase.PAUSED) or view.paused_until for view in sides):
                self._resume(sides[0].tenant, sides[0].lane)
        for tenant in (ACME, BOLT):
            self._release(tenant, None)
        for doubt in doubts:
            self._resolve(doubt.tenant, doubt.id, "sent")

    def _play_all(self) -> bool:
        turns, sends = len(self.turns), len(self.sends)
        self._claim_turns(ONE, TTL, suspects=False, alone=False)
        self._claim_turns(ONE, TTL, suspects=True, alone=True)
        for turn in self.turns[turns:]:
            self._advance(turn)
        self._claim_sends(ONE, TTL)
        for send in self.sends[sends:]:
            self._send(send)
        return (len(self.turns), len(self.sends)) != (turns, sends)

    def _advance(self, turn: Both[HeldTurn]) -> None:
        settled = self.agree(lambda harness, at: harness.store.settle(a_settlement(turn.each[at])))
        assert settled.first.fate is Fate.KEPT

    def _send(self, send: Both[HeldEffect]) -> None:
        attempt = send.first.effect.attempts
        if send.first.effect.state is EffectState.PENDING:
            attempt += 1
            answers = self.agree(
                lambda harness, at: harness.store.begin(send.each[at].lease, send.each[at].effect.id, attempt)
            )
            if not isinstance(answers.first, Began):
                return
        recorded = self.agree(
            lambda harness, at: harness.store.record(
                send.each[at].lease, send.each[at].effect.id, attempt, Confirmed(), None
            )
        )
        assert recorded.first.fate is Fate.KEPT

    # --- what is held ---

    def _keep_turns(self, found: Iterable[Sequence[HeldTurn]]) -> None:
        """A repeated settlement answers the same next turn again: only a new lease is a new claim."""
        for each in found:
            self.known.update(dict.fromkeys(event.id for event in each[0].events))
            if all(held.first.lease != each[0].lease for held in self.turns):
                self.turns.append(Both(each))
                self.watch.claimed([each[0]])

    def _keep_sends(self, found: Iterable[Sequence[HeldEffect]]) -> None:
        for each in found:
            if all(held.first.lease != each[0].lease for held in self.sends):
                self.sends.append(Both(each))
                self.watch.claimed_sends([each[0]])

    def _some(self, draw: Draw) -> list[Both[HeldTurn] | Both[HeldEffect]]:
        held: list[Both[HeldTurn] | Both[HeldEffect]] = [*self.turns[-4:], *self.sends[-4:]]
        return draw.sample(held, min(len(held), draw.randint(1, 3)))

    def _asides(self) -> list[tuple[TenantId, EventId]]:
        lives = self.look()["lives"] if not self.parted else {}
        assert isinstance(lives, dict)
        aside = EventState.SET_ASIDE
        return sorted({(view.tenant, view.id) for views in lives.values() for view in views if view.state is aside})


def _recent(held: list[T], draw: Draw) -> T:
    return held[_recent_place(held, draw)]


def _recent_place(held: list[T], draw: Draw) -> int:
    return max(0, len(held) - 1 - draw.randrange(6))
