"""What the machine draws from: few names and few values, so that things meet.

A step's content comes from a `Random` of its own, seeded by Hypothesis: an example then goes a long way on few draws,
and is shrunk by leaving steps out.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Final, TypeVar

from procession.core.effect import DoubtPolicy, EffectDraft, Receipt, RefusedPolicy, Repeatability, Terms
from procession.core.event import NewEvent, Order, Quarantined, Sighting, Stale, Window
from procession.core.ids import EffectId, EventId, LaneId, TenantId, effect_id, event_id, namesake_id
from procession.core.lane import PauseDraft
from procession.core.limits import ALIAS_RETIRED_KEEP
from procession.core.pace import Pace
from procession.core.turn import Advance, Delay, Outcome, Park, ReminderDraft, SetAside, Step
from procession.core.verdict import Absent, Confirmed, Deferred, Halted, Refused, Scope, Uncertain, Verdict
from tests.conformance.builders import (
    ACME,
    BOLT,
    MAIN,
    SettlementWords,
    a_quarantined,
    a_step,
    a_window,
    an_event,
    moment,
    number,
    seconds,
    some_terms,
    the_lane,
    version,
)
from tests.conformance.clock import START

T = TypeVar("T")

TENANTS: Final = (ACME, ACME, ACME, BOLT)
LANES: Final = ("ann", "ann", "bob", "chat", "numbers", "versions", "moments")
PEOPLE: Final = ("ann", "bob", "chat", "dora", "eve", "finn", "gus", "hal")
"""Who may turn out to be somebody else."""
CONVERSATIONS: Final = ("ann", "ann", "ann", "bob")
REFS: Final = ("ref-1", "ref-2")
REMINDERS: Final = ("later", "again")
SPANS: Final = tuple(seconds(count) for count in (0.5, 1, 2, 3, 5, 10, 30))
LONG_SPANS: Final = (timedelta(minutes=2), timedelta(hours=25), timedelta(days=9), ALIAS_RETIRED_KEEP)

Draw = Random


def seldom(draw: Draw, one_in: int = 10) -> bool:
    return draw.randrange(one_in) == 0


def several(draw: Draw, most: int, one: Callable[[Draw], T]) -> list[T]:
    return [one(draw) for _ in range(draw.randint(0, most))]


def a_tenant_of(draw: Draw) -> TenantId:
    return draw.choice(TENANTS)


def a_lane_of(draw: Draw) -> str:
    return draw.choice(LANES)


def a_lane_id(draw: Draw, tenant: TenantId) -> LaneId:
    """Mostly one that somebody means; seldom one that a namesake has."""
    lane = the_lane(a_lane_of(draw), tenant)
    return namesake_id(lane, 2) if seldom(draw, 8) else lane


def a_span(draw: Draw) -> timedelta:
    return draw.choice(SPANS)


# --- what comes in ---


def event(draw: Draw) -> NewEvent:
    lane, n = a_lane_of(draw), draw.randint(1, 9)
    aliases = names(draw, lane)
    return an_event(
        n,
        lane=lane,
        tenant=a_tenant_of(draw),
        payload=draw.choice([b"{}", b"\x00\xff", b'"\\ud800"']),
        order=order(draw, lane, n),
        window=window(draw) if lane == "chat" and not seldom(draw, 5) else None,
        occurred_at=START + timedelta(seconds=draw.choice([-60, 0, 20, 90_000])) if seldom(draw, 3) else None,
        hears=draw.random() < 0.5,
        pause=pause(draw) if seldom(draw, 20) else None,
        aliases=aliases,
        retires=(draw.choice(aliases),) if aliases and seldom(draw, 12) else (),
    )


def of_person(draw: Draw, tenant: TenantId, person: str, *others: str) -> NewEvent:
    """They say something under their own name, and perhaps under others'."""
    new = event(draw)
    return replace(
        new,
        tenant=tenant,
        lane=the_lane(person, tenant),
        lane_key=person,
        id=event_id(tenant, MAIN, new.provider_id),
        order=None,
        window=window(draw) if seldom(draw, 4) else None,
        aliases=tuple(draw.sample((person, *others), 1 + len(others))),
        retires=(),
    )


def names(draw: Draw, lane: str) -> tuple[str, ...]:
    """Each subject has two names of its own; now and then it turns out to be another one too."""
    if draw.random() < 0.5:
        return ()
    own = [lane, f"{lane}'s id"]
    found = draw.sample(own, draw.randint(1, 2))
    if seldom(draw, 8):
        found.insert(draw.randint(0, len(found)), a_lane_of(draw))
    return tuple(dict.fromkeys(found))


def order(draw: Draw, lane: str, n: int) -> Order | None:
    """Each lane's source has one way to number, and most of its events have a number."""
    if lane not in ("numbers", "versions", "moments") or seldom(draw):
        return None
    stale = draw.choice([Stale.LATE, Stale.LATE, Stale.DROP])
    span = draw.choice([0, 3, 8])
    if lane == "numbers":
        return number(n, window=max(span, 3), stale=stale, first=1)
    # Some events are of one version or moment.
    return (version if lane == "versions" else moment)((n + 1) // 2, window=span, stale=stale)


def window(draw: Draw) -> Window:
    quiet = draw.choice([1, 2, 5])
    return a_window(
        quiet=quiet, wait_max=draw.choice([quiet, 6]), events_max=draw.randint(1, 4), flushes=seldom(draw, 6)
    )


def quarantined(draw: Draw) -> Quarantined:
    return a_quarantined(draw.choice([b"{", b"["]))


def sighting(draw: Draw, known: Sequence[tuple[TenantId, EffectId]]) -> Sighting:
    """Of an effect that is known, by our id, or by a reference that may be anybody's."""
    tenant, effect = draw.choice(known) if known else (a_tenant_of(draw), None)
    by_ref = effect is None or draw.random() < 0.5
    return Sighting(
        tenant=tenant,
        channel=MAIN,
        receipt=draw.choice(list(Receipt)),
        effect=None if by_ref else effect,
        ref=draw.choice(REFS) if by_ref else None,
        failed=seldom(draw, 5),
        detail=draw.choice(["", "131049"]),
    )


# --- what turns leave behind ---


def outcome(draw: Draw) -> Outcome:
    others: list[Outcome] = [
        Delay(after=a_span(draw), reason="busy", counts=draw.random() < 0.7),
        Park(reason="ask"),
        SetAside(reason="bad"),
    ]
    return draw.choice([*[Advance()] * 7, *others])


def settlement_words(
    draw: Draw, tenant: TenantId, turn: EventId, known: Sequence[tuple[TenantId, EffectId]]
) -> SettlementWords:
    return SettlementWords(
        state=draw.choice([None, None, b"", b"one", b"two"]),
        effects=tuple(several(draw, 3, lambda own: draft(own, tenant, turn))),
        cancel_effects=(draw.choice(known)[1],) if known and seldom(draw, 4) else (),
        reminders=tuple(several(draw, 1, reminder)),
        cancel_reminders=(draw.choice(REMINDERS),) if seldom(draw, 6) else (),
        pause=pause(draw) if seldom(draw, 15) else None,
        keep_for=seconds(10) if draw.random() < 0.3 else None,
    )


def effects_of(draw: Draw, tenant: TenantId, turn: EventId, people: Sequence[str]) -> tuple[EffectDraft, ...]:
    """In the conversations of these."""
    return tuple(draft(draw, tenant, turn, conversations=people) for _ in range(draw.randint(1, 4)))


def draft(
    draw: Draw, tenant: TenantId, turn: EventId, own: Terms | None = None, conversations: Sequence[str] = CONVERSATIONS
) -> EffectDraft:
    key, lane = draw.choice("012"), draw.choice(conversations)
    return EffectDraft(
        id=effect_id(tenant, turn, key),
        key=key,
        channel=MAIN,
        lane=the_lane(lane, tenant),
        lane_key=lane,
        about_at=START + timedelta(seconds=draw.choice([-60, 0, 20, 90_000])) if seldom(draw, 6) else None,
        action="http",
        payload=draw.choice([b"hello", b"\x00"]),
        terms=terms(draw) if own is None else own,
        aliases=names(draw, lane) if seldom(draw, 4) else (),
    )


def terms(draw: Draw) -> Terms:
    return some_terms(
        repeatability=draw.choice(list(Repeatability)),
        gate=draw.choice([Receipt.ACCEPTED, Receipt.ACCEPTED, Receipt.DELIVERED]),
        gate_wait=draw.choice([0, 5]),
        gap=draw.choice([0, 0, 2]),
        unshown=draw.choice([None, 1, 8]),
        doubt=draw.choice(list(DoubtPolicy)),
        doubt_wait=draw.choice([3, 10]),
        resends_max=draw.choice([1, 3]),
        on_refused=draw.choice([RefusedPolicy.CONTINUE, RefusedPolicy.CONTINUE, RefusedPolicy.PARK]),
        tries_max=draw.randint(1, 3),
        answer_within=draw.choice([timedelta(seconds=40), timedelta(hours=24)]),
        window=draw.choice([None, None, None, None, timedelta(seconds=20), timedelta(hours=24)]),
    )


def reminder(draw: Draw) -> ReminderDraft:
    return ReminderDraft(name=draw.choice(REMINDERS), after=a_span(draw), payload=draw.choice([b"", b"r"]))


def pause(draw: Draw) -> PauseDraft:
    return PauseDraft(
        duration=None if seldom(draw, 4) else a_span(draw),
        keep_effects=draw.random() < 0.5,
        reason="a person takes over",
    )


def step(draw: Draw) -> Step:
    return a_step(draw.choice(["ask", "call"]), draw.choice([b"1", b"2"]), draw.randint(0, 1))


# --- what sends come to ---


def verdict(draw: Draw) -> Verdict:
    return draw.choice(
        [
            confirmed(draw),
            confirmed(draw),
            Deferred(
                after=a_span(draw), reason="throttled", counts=draw.random() < 0.5, scope=draw.choice(list(Scope))
            ),
            halted(draw) if seldom(draw, 5) else confirmed(draw),
            Refused(reason="no", code=draw.choice(["", "131026"])),
            Uncertain(reason="broke", after=a_span(draw)),
            Uncertain(reason="broke", after=a_span(draw)),
        ]
    )


def halted(draw: Draw) -> Verdict:
    return Halted(reason="revoked", code=draw.choice(["", "190"]), scope=draw.choice(list(Scope)))


def about_others(draw: Draw) -> Verdict:
    """What a provider answers to a hurry."""
    deferred = Deferred(after=a_span(draw), reason="throttled", counts=False, scope=draw.choice(list(Scope)))
    return draw.choice([*[Confirmed()] * 8, deferred, deferred, halted(draw)])


def pace(draw: Draw) -> Pace | None:
    if seldom(draw, 4):
        return None
    return Pace(
        per_second=draw.choice([0, 1, 3, 80]),
        pair_every=draw.choice([timedelta(0), seconds(2), seconds(6)]),
        pair_burst=draw.choice([1, 2, 45]),
    )


def finding(draw: Draw) -> Verdict:
    """Of a probe."""
    return draw.choice(
        [
            confirmed(draw),
            Absent(reason="not there"),
            Uncertain(reason="no answer", after=a_span(draw)),
            Refused(reason="no"),
        ]
    )


def confirmed(draw: Draw) -> Verdict:
    return Confirmed(
        ref=draw.choice([None, *REFS]), receipt=draw.choice([Receipt.ACCEPTED, Receipt.ACCEPTED, Receipt.DELIVERED])
    )
