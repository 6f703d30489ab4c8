"""What must hold of one store by itself, whatever was done: a model of its own, fed with what the store answers."""

from collections import defaultdict
from collections.abc import Iterable

from procession.core.effect import ENDED, EffectState
from procession.core.event import EventState
from procession.core.ids import EffectId, EventId, LaneId, TenantId
from procession.core.lane import Lease, Phase, Side
from procession.core.turn import HeldEffect, HeldTurn
from procession.ports.console import EffectView, EventView, LaneView
from tests.conformance.picture import Picture
from tests.properties.merges import Merges

Lane = tuple[TenantId, LaneId]
EventKey = tuple[TenantId, EventId]
EffectKey = tuple[TenantId, EffectId]

EVENT_ENDS = frozenset({EventState.DONE, EventState.DROPPED, EventState.SKIPPED})


class Watch:
    """Follows one store from picture to picture."""

    def __init__(self) -> None:
        self._epochs: dict[tuple[TenantId, LaneId, Side], int] = defaultdict(int)
        self._frozen: dict[tuple[TenantId, EventId], tuple[EventId, ...]] = {}
        self._events: dict[EventKey, EventView] = {}
        self._effects: dict[EffectKey, EffectView] = {}
        self._merges = Merges(())

    def forget(self) -> None:
        """After a prune: what is gone may come anew."""
        self._events.clear()
        self._effects.clear()
        self._frozen.clear()

    # --- claims ---

    def claimed(self, turns: Iterable[HeldTurn]) -> None:
        for turn in turns:
            self._epoch_grows(turn.lease)
            places = [event.seq for event in turn.events]
            assert places == list(range(places[0], places[0] + len(places))), "a turn's events follow one another"
            self._events_are_frozen(turn)

    def _epoch_grows(self, lease: Lease) -> None:
        side = lease.tenant, lease.lane, lease.side
        assert lease.epoch > self._epochs[side], "each claim raises the epoch"
        self._epochs[side] = lease.epoch

    def _events_are_frozen(self, turn: HeldTurn) -> None:
        if turn.tries > 1 or turn.deaths:
            before = self._frozen.get((turn.lease.tenant, turn.id))
            assert before in (None, tuple(event.id for event in turn.events)), "a turn is frozen by its first claim"
        self._frozen[turn.lease.tenant, turn.id] = tuple(event.id for event in turn.events)

    def claimed_sends(self, sends: Iterable[HeldEffect]) -> None:
        for send in sends:
            self._epoch_grows(send.lease)
            assert send.effect.state in (EffectState.PENDING, EffectState.DOUBT)

    # --- what can be seen ---

    def saw(self, picture: Picture) -> None:
        lives = picture["lives"]
        lanes = picture["lanes"]
        assert isinstance(lives, dict)
        assert isinstance(lanes, dict)
        events = {(view.tenant, view.id): view for views in lives.values() for view in views}
        effects = {(effect.tenant, effect.id): effect for view in events.values() for effect in view.effects}
        self._what_ended_stays(events, effects)
        self._places_are_whole(events.values())
        self._order_out_holds(effects.values())
        now = Merges(side for sides in lanes.values() for side in sides)
        for view in now.sides.values():
            _rests_well(view, waits_for_merge=now.is_waited_for(view))
        now.hold(events.values())
        now.follow(self._merges)
        self._own_order_stays(events)
        self._events, self._effects, self._merges = events, effects, now

    def _what_ended_stays(self, events: dict[EventKey, EventView], effects: dict[EffectKey, EffectView]) -> None:
        for key, event in self._events.items():
            now = events.get(key)
            assert now is not None, "nothing is forgotten but by prune"
            assert event.seq in (None, now.seq) or event.lane != now.lane, "an event keeps its seq"
            if event.state in EVENT_ENDS:
                assert now.state is event.state, "what has ended never moves again"
        for own, effect in self._effects.items():
            after = effects.get(own)
            if after is None:
                # Of an event's earlier life: it is to be played anew, or its id was forgotten and came again.
                now = events.get((effect.tenant, effect.turn))
                assert now is None or now.turn != effect.turn, "an effect is shown with its turn"
                continue
            assert after.oseq == effect.oseq or effect.lane != after.lane
            assert after.receipt >= effect.receipt, "receipts never fall"
            assert after.attempts >= effect.attempts
            if effect.state in ENDED:
                assert after.state is effect.state, "what has ended never moves again"

    def _own_order_stays(self, events: dict[EventKey, EventView]) -> None:
        """Those of one lane that wait, and wait on in one lane, do so in the order in which they did."""
        waited: dict[tuple[Lane, LaneId], list[EventView]] = defaultdict(list)
        for key, before in self._events.items():
            if before.state is EventState.WAITING and events[key].state is EventState.WAITING:
                waited[(before.tenant, before.lane), events[key].lane].append(before)
        for together in waited.values():
            together.sort(key=lambda event: event.seq or 0)
            places = [events[event.tenant, event.id].seq or 0 for event in together]
            assert places == sorted(places), "what moves keeps its own order"

    def _places_are_whole(self, events: Iterable[EventView]) -> None:
        taken: dict[Lane, list[int]] = defaultdict(list)
        for event in events:
            if event.seq is not None:
                taken[event.tenant, event.lane].append(event.seq)
            assert (event.seq is None) == (event.state in (EventState.HELD, EventState.DROPPED))
        for seqs in taken.values():
            assert len(seqs) == len(set(seqs)), "no two events have one place"

    def _order_out_holds(self, effects: Iterable[EffectView]) -> None:
        conversations: dict[Lane, list[EffectView]] = defaultdict(list)
        for effect in effects:
            conversations[effect.tenant, effect.lane].append(effect)
        for conversation in conversations.values():
            conversation.sort(key=lambda effect: effect.oseq)
            for at, effect in enumerate(conversation):
                # A new era doubts also what was never begun.
                if effect.attempts and effect.state in (EffectState.ARMED, EffectState.DOUBT):
                    assert all(other.state in ENDED for other in conversation[:at]), "nothing is begun before its turn"


def _rests_well(view: LaneView, *, waits_for_merge: bool) -> None:
    assert (view.phase is Phase.HELD) == bool(view.worker)
    assert (view.phase is not Phase.IDLE) or view.side is Side.SENDS or view.waiting == 0
    if view.phase is Phase.WAITING:
        assert view.wake_at is not None or waits_for_merge, "whatever waits is looked at again"
    if view.phase is Phase.PARKED:
        assert view.reason, "whatever is parked says why"
