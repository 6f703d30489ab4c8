"""Judges a run: pure functions over the history and the final state, linear in their length.

Each rule answers its findings; a single one fails the run. The rules, and where they are checked:

    S1  no loss after a 2xx                          lost
    S2  no event that nobody posted                  phantom
    S3  one stored record for each id                duplicates
    S4  one set of effects for each event            duplicates, lost
    S5  seq follows the order of acceptance          out_of_order
    S5c effects reach the provider in their order    out_of_order
    S6  seq and oseq have no gaps                    gaps
    S8  the provider takes each effect at most once  duplicates
    S9  on the wire if and only if committed         phantom, lost

The workload is the harness's own: each event asks for one effect, and only what is in `poison` may be set aside.
Order is judged by what an outsider can know: `a` was accepted before `b` if its first 2xx came before `b`'s first post.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

from procession.testing.chaos.final_state import EffectEnd, EventEnd, FinalState, StoredEffect
from procession.testing.chaos.history import Answered, Entry, Outcome, Posted, Wired

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

_UNSETTLED: Final = frozenset({EffectEnd.PENDING, EffectEnd.ARMED})
_HOLDS_BACK: Final = _UNSETTLED | {EffectEnd.IN_DOUBT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    rule: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    accepted: int
    lost: tuple[Finding, ...]
    duplicates: tuple[Finding, ...]
    out_of_order: tuple[Finding, ...]
    set_aside_wrongly: tuple[Finding, ...]
    phantom: tuple[Finding, ...]
    gaps: tuple[Finding, ...]
    unfinished: tuple[Finding, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (
            *self.lost,
            *self.duplicates,
            *self.out_of_order,
            *self.set_aside_wrongly,
            *self.phantom,
            *self.gaps,
            *self.unfinished,
        )

    def counts(self) -> dict[str, int]:
        """As the selftest prints them."""
        return {
            "accepted": self.accepted,
            "lost": len(self.lost),
            "duplicates": len(self.duplicates),
            "out_of_order": len(self.out_of_order),
            "set_aside_wrongly": len(self.set_aside_wrongly),
            "phantom": len(self.phantom),
            "gaps": len(self.gaps),
            "unfinished": len(self.unfinished),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The history, indexed once for all rules."""

    first_posted: dict[str, Posted]
    posted_at: dict[str, int]
    accepted_at: dict[str, int]
    certainly_refused: frozenset[str]
    wires: tuple[tuple[int, Wired], ...]


def check(history: Iterable[Entry], final: FinalState, poison: Collection[str] = frozenset()) -> Verdict:
    seen = evidence(history)
    return Verdict(
        accepted=len(seen.accepted_at),
        lost=tuple(lost(seen, final)),
        duplicates=tuple(duplicates(seen, final)),
        out_of_order=tuple(out_of_order(seen, final)),
        set_aside_wrongly=tuple(set_aside_wrongly(final, poison)),
        phantom=tuple(phantom(seen, final)),
        gaps=tuple(gaps(final)),
        unfinished=tuple(unfinished(final)),
    )


def evidence(history: Iterable[Entry]) -> Evidence:
    first_posted: dict[str, Posted] = {}
    posted_at: dict[str, int] = {}
    accepted_at: dict[str, int] = {}
    posts, refusals = Counter[str](), Counter[str]()
    wires: list[tuple[int, Wired]] = []
    for entry in history:
        match entry.happening:
            case Posted() as post:
                posts[post.event] += 1
                first_posted.setdefault(post.event, post)
                posted_at.setdefault(post.event, entry.h)
            case Answered(outcome=Outcome.OK, event=event):
                accepted_at.setdefault(event, entry.h)
            case Answered(outcome=Outcome.FAIL, event=event):
                refusals[event] += 1
            case Wired() as wire:
                wires.append((entry.h, wire))
            case _:
                pass
    return Evidence(
        first_posted=first_posted,
        posted_at=posted_at,
        accepted_at=accepted_at,
        certainly_refused=frozenset(event for event, times in posts.items() if refusals[event] == times),
        wires=tuple(wires),
    )


def lost(seen: Evidence, final: FinalState) -> Iterator[Finding]:
    stored = {event.event for event in final.events}
    asked = {effect.event for effect in final.effects}
    taken = {wire.effect for _, wire in seen.wires if wire.accepted}
    for accepted in seen.accepted_at:
        if accepted not in stored:
            yield Finding(rule="S1", why=f"{accepted} was answered 2xx and is not in the store")
    for event in final.events:
        if event.end is EventEnd.DONE and event.event not in asked:
            yield Finding(rule="S4", why=f"{event.event} is done, but its effect is not in the store")
    for effect in final.effects:
        if effect.end is EffectEnd.CONFIRMED and effect.effect not in taken:
            yield Finding(rule="S9", why=f"{effect.effect} is confirmed, but the provider never took it")


def duplicates(seen: Evidence, final: FinalState) -> Iterator[Finding]:
    taken = [wire for _, wire in seen.wires if wire.accepted]
    for event, times in _repeated(event.event for event in final.events):
        yield Finding(rule="S3", why=f"{event} is stored {times} times")
    for event, times in _repeated(effect.event for effect in final.effects):
        yield Finding(rule="S4", why=f"{event} has {times} effects in the store")
    for sent, times in _repeated(wire.effect for wire in taken):
        yield Finding(rule="S8", why=f"the provider took {sent} {times} times")
    for event, times in _repeated(event for event, _ in {(wire.event, wire.effect) for wire in taken}):
        yield Finding(rule="S8", why=f"the provider took {times} different effects of {event}")


def out_of_order(seen: Evidence, final: FinalState) -> Iterator[Finding]:
    for events in _by(final.events, lambda event: event.lane).values():
        by_seq = sorted(events, key=lambda event: event.seq)
        yield from _against_acceptance("S5", [event.event for event in by_seq], seen)
    seq_of = {event.event: event.seq for event in final.events}
    for effects in _by(final.effects, lambda effect: effect.lane).values():
        by_oseq = sorted(effects, key=lambda effect: effect.oseq)
        yield from _against_turns(by_oseq, seq_of)
        yield from _against_gates(by_oseq, seen)
    for wires in _by((wire for _, wire in seen.wires if wire.accepted), lambda wire: wire.lane).values():
        yield from _against_acceptance("S5c", [wire.event for wire in wires], seen)


def _against_acceptance(rule: str, events: Sequence[str], seen: Evidence) -> Iterator[Finding]:
    """From the end, with the earliest acceptance of all that come later: none may lie before this one's first post."""
    later, accepted = "", float("inf")
    found = []
    for event in reversed(events):
        if accepted < seen.posted_at.get(event, 0):
            found.append(
                Finding(rule=rule, why=f"{event} comes before {later}, which was accepted before it was posted")
            )
        if seen.accepted_at.get(event, accepted) < accepted:
            later, accepted = event, seen.accepted_at[event]
    yield from reversed(found)


def _against_turns(effects: Sequence[StoredEffect], seq_of: dict[str, int]) -> Iterator[Finding]:
    for one, next_one in pairwise(effects):
        if seq_of.get(one.event, 0) > seq_of.get(next_one.event, float("inf")):
            why = f"{one.effect} (oseq {one.oseq}) stands before {next_one.effect}, but its turn came after"
            yield Finding(rule="S5c", why=why)


def _against_gates(effects: Sequence[StoredEffect], seen: Evidence) -> Iterator[Finding]:
    """An effect may reach the provider only after each before it was taken, or has reached another end."""
    first_wired: dict[str, int] = {}
    first_taken: dict[str, int] = {}
    for h, wire in seen.wires:
        first_wired.setdefault(wire.effect, h)
        if wire.accepted:
            first_taken.setdefault(wire.effect, h)
    gate, before, held_by = 0, "", ""
    for effect in effects:
        wired = first_wired.get(effect.effect)
        if wired is not None and held_by:
            yield Finding(rule="S5c", why=f"{effect.effect} was sent although {held_by} before it has no end")
        elif wired is not None and wired < gate:
            yield Finding(rule="S5c", why=f"{effect.effect} was sent before {before} was taken")
        if effect.end in _HOLDS_BACK:
            held_by = held_by or effect.effect
        elif effect.end is EffectEnd.CONFIRMED and first_taken.get(effect.effect, 0) > gate:
            gate, before = first_taken[effect.effect], effect.effect


def set_aside_wrongly(final: FinalState, poison: Collection[str]) -> Iterator[Finding]:
    for event in final.events:
        if event.end is EventEnd.SET_ASIDE and event.event not in poison:
            yield Finding(rule="S14", why=f"{event.event} was set aside, and nothing was wrong with it")
        if event.end is EventEnd.DROPPED or event.end is EventEnd.QUARANTINED:
            yield Finding(rule="S1", why=f"{event.event} is {event.end}, and nobody asked for that")


def phantom(seen: Evidence, final: FinalState) -> Iterator[Finding]:
    events = {event.event: event for event in final.events}
    effects = {effect.effect: effect for effect in final.effects}
    for event in events:
        if event not in seen.first_posted:
            yield Finding(rule="S2", why=f"{event} is stored, and nobody posted it")
        elif event in seen.certainly_refused:
            yield Finding(rule="S2", why=f"{event} is stored, although every post of it was refused")
    for effect in final.effects:
        if effect.event not in events:
            yield Finding(rule="S9", why=f"{effect.effect} is stored for {effect.event}, which is not")
    for sent in {wire.effect: wire for _, wire in seen.wires}.values():
        yield from _uncommitted(sent, effects.get(sent.effect))


def _uncommitted(wire: Wired, effect: StoredEffect | None) -> Iterator[Finding]:
    if effect is None:
        yield Finding(rule="S9", why=f"{wire.effect} reached the provider and is not in the store")
    elif effect.event != wire.event:
        yield Finding(rule="S9", why=f"{wire.effect} was sent for {wire.event}, but is stored for {effect.event}")
    elif effect.end is EffectEnd.PENDING:
        yield Finding(rule="S9", why=f"{wire.effect} reached the provider, but the store has it as never begun")


def gaps(final: FinalState) -> Iterator[Finding]:
    for lane, events in _by(final.events, lambda event: event.lane).items():
        yield from _gap("seq", lane, [event.seq for event in events])
    for lane, effects in _by(final.effects, lambda effect: effect.lane).items():
        yield from _gap("oseq", lane, [effect.oseq for effect in effects])


def _gap(name: str, lane: str, numbers: list[int]) -> Iterator[Finding]:
    for expected, found in enumerate(sorted(numbers), 1):
        if expected != found:
            yield Finding(rule="S6", why=f"{lane}: {name} {expected} is missing or doubled (found {found})")
            return


def unfinished(final: FinalState) -> Iterator[Finding]:
    """Not a broken promise of safety, but of liveness: after healing and quiet nothing may be on its way any more."""
    for event in final.events:
        if event.end is EventEnd.WAITING:
            yield Finding(rule="L4", why=f"{event.event} still waits")
    for effect in final.effects:
        if effect.end in _UNSETTLED:
            yield Finding(rule="L4", why=f"{effect.effect} is still {effect.end}")


def _repeated(keys: Iterable[str]) -> Iterator[tuple[str, int]]:
    return ((key, times) for key, times in Counter(keys).items() if times > 1)


def _by(values: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    grouped: dict[K, list[T]] = defaultdict(list)
    for value in values:
        grouped[key(value)].append(value)
    return grouped
