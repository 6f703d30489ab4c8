"""The store's side of the line: ten operations. Whoever writes a store writes these, and runs `tests/conformance` over
it.

Read `core/lane.py` (phases, lease), `core/effect.py` (states) and `core/event.py` first. The rules for all ten:

G1. An operation happens as a whole or not at all, and the operations of one store happen as if one after the other.
G2. When an operation returns, what it did survives the death of every process and, under the store's verified
    settings, a power cut.
G3. `StoreAway` (and `StoreFull`): it certainly did not happen. `OutcomeUnknown`: it may have happened, or may happen
    yet. `StoreBroken`: the caller has to end its process. Nothing else is raised but `BadRequest` for what can never
    be right.
G4. Every operation can be repeated with the same arguments after `OutcomeUnknown`, by the same caller, and answers as
    if it had happened once. (A repeated `claim_…` may find that the lanes of the first are held, until their lease
    runs out.)
G5. Durations go in, and the store's own clock decides; its clock never goes backwards, also over a restart.
G6. Every write that names a lease compares tenant, lane, side, era and epoch in the same statement as the write, and
    answers LOST, having changed nothing, unless the lane is held under exactly these.
G7. No operation reads or changes a row of a tenant that its arguments do not name; `claim_…`, `sweep` and `prune` are
    the engine's own and go over all tenants.
G8. A lane that an operation leaves unheld rests in the phase that `core.lane.resting` computes.
G9. Rows that belong to several lanes are locked in one order (turns before sends; by tenant, lane), whatever the
    arguments' order.

Two lanes of one tenant and channel may turn out to be one subject's (A10). Then they are merged:

X1. The one whose TURNS side was made first survives. The other takes nothing new: what is accepted, asked for or
    reminded for it from now on, under whatever name, is the survivor's. Whoever pauses or resumes one of them means
    both; whoever skips, the head that has to come to its end first.
X2. What it has open comes to its end in its own lane: a turn that was claimed (until it is done, set aside or skipped),
    and the head effect if its lane is held, or if it is more than pending or was ever begun. Everything else moves to
    the survivor at once, behind what waits there, in its own order: waiting events (first those that are to be
    replayed) and effects take the survivor's next places, held events wait on for theirs, and so do windows; reminders
    keep their time, and their order among those of one moment (the survivor's of the same name stays). A set-aside
    event that is replayed, before or after, takes the survivor's next place too, `late`, as a turn of its own, with
    its steps.
X3. Until a merged lane's side has come to its end, nothing of the same side of the survivor is claimed; it is WAITING,
    unless it is PARKED or PAUSED. A survivor that is merged in turn has not come to its end before those that were
    merged into it.
X4. The survivor keeps its state. If the other has one when its turns have come to their end, an event of the kind
    `lane.merged`, with that lane's key and state in it, takes the survivor's next place (before what moves, if they
    had ended already).
X5. A pause of either stops both, of two the longer one; what waits is kept if either keeps it. What stands before an
    effect that passes a pause passes with it. A park that the other is left with at its end (a refusal) is the
    survivor's, unless that is parked already for more than a doubt. Nothing of a lane that has come to its end is
    paused or parked.
X6. `heard_at`, and the newest released of the source's own order, are the later of the two; so, at the end of the
    other, is the burst that is owed for. Ids never change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from procession.core.effect import EffectDraft
from procession.core.event import Acceptance, Intake
from procession.core.ids import EffectId, EventId, WorkerId
from procession.core.lane import Lease
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect, HeldTurn, NotBegun, Recorded, Settled, Settlement, Step
from procession.core.verdict import Fate, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a worker asks for when it claims."""

    worker: WorkerId
    lanes_max: int
    ttl: timedelta
    pools: frozenset[str] = frozenset({""})
    """Only tenants that are pinned to one of these pools; "" is the pool of those that are pinned to none."""
    suspects: bool = False
    """Turns only. False: none that have deaths. True: only those that have, the most suspect first (most deaths, then
    longest ready); one with two deaths or more is answered alone."""
    alone: bool = False
    """Turns only: nothing else runs in the worker's process while these do; recorded with the try, see `sweep`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep did, and when the next is due at the latest (None: nothing is known to come due)."""

    leases_freed: int = 0
    deaths: int = 0
    doubted: int = 0
    woken: int = 0
    released: int = 0
    """Events that left resequencing."""
    reminded: int = 0
    gates_expired: int = 0
    doubts_parked: int = 0
    doubts_resent: int = 0
    doubts_skipped: int = 0
    more: bool = False
    """The bound was reached: sweep again at once."""
    next_after: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    rows: int = 0
    more: bool = False


class Store(Protocol):
    """The ten operations of the line."""

    async def accept(self, intake: Intake) -> Acceptance:
        """Write down a delivery.

        Does
        A1. Each event whose (tenant, id) is not in the store yet is stored, with its payload byte for byte; one that is
            there already changes nothing, in whatever state it is, and is answered `fresh=False`. This also holds
            within the intake.
        A2. A fresh event without `order` takes its lane's next seq: 1, 2, 3 without gap, in the order of the intake's
            events, and of commits between intakes. An event that took a seq can be seen only when all before it can.
        A3. NUMBER: the expected number is `first`, or for a lane that has seen none the event's own; then one more
            than the newest released. An event with the expected number takes its seq, and those held that follow it
            without gap take theirs, in order, in the same write. A higher number is HELD, without seq, for `window`,
            and answered `seq=None`. A lower one is late: it takes the next seq and `late=True` (or, with DROP, is
            DROPPED: stored, never played, `seq=None`).
        A4. VERSION: newer than the newest released: with a zero window it takes its seq; with a window it is HELD for
            it. Not newer: stale, as in A3's lower.
        A5. TIME: older than the newest released is stale, as above; any other is HELD for the window (zero: takes its
            seq).
        A6. An event with `window` that becomes part of a lane at rest does not make it READY at once but WAITING, see
            `resting` and C4: until `quiet` after the newest, at most `wait_max` after the head, at once when
            `events_max` wait or one flushes.
        A7. A lane at rest gets a new phase by G8; a held, paused or parked one keeps its own.
        A8. Each sighting goes to the effect that it names, by id or by ref, of its own tenant and channel; a sighting
            of nothing known is dropped, unless it came by ref: then it is kept for `record` to find (the status may
            come before the call's own answer). The receipt climbs, never falls. A sighting that is no failure proves
            acceptance: `EffectMove.SIGHT` for an effect that has not ended (a failed one proves it too). Doubt, gate
            and park of the conversation are looked at anew.
        A9. Each quarantined body is stored once under its id.
        A10. A fresh event with `aliases` goes to the lane that they lead to, in its tenant and channel. If they lead to
            several, these are one subject's: they are merged (X1 to X6) before the event is placed. From then on all
            of its names lead there; but those that it `retires` only for ALIAS_RETIRED_KEEP, and only what has no
            other name: such an event was long on its way, and changes no name. In company a retired name is somebody
            else's by now, and leads nowhere, unless the event retires it itself. If none leads anywhere: to `lane`; and
            if that was led to by names before, it is another subject's: then to a new lane with the same key
            (`namesake_id`, of the first number that no name has led to).
        A11. A fresh event that `hears` moves the lane's `heard_at` on to its `occurred_at` (not past the present; None:
            the present); never back. Also one that is HELD, or DROPPED as stale: the subject has spoken all the same.
        A12. A fresh event with `pause` pauses both sides of its lane as `Console.pause` does; one that is there and
            lasts as long, or longer, stays.

        Requires: the tenants and channels exist (an application's ingress routes only to known ones; the store does
        not check).
        Ensures: all of it, or nothing, is stored; a repeat changes nothing.
        Answers: a placement for each event, in order.
        Raises: StoreAway, StoreFull, OutcomeUnknown, StoreBroken.
        """
        ...

    async def claim_turns(self, ask: Ask) -> tuple[HeldTurn, ...]:
        """Take turns of ready lanes.

        Does
        C1. Takes up to `lanes_max` READY lanes, one turn each: makes them HELD by the worker until `ttl` from now,
            raises each epoch.
        C2. Fair: over time, tenants that have ready lanes get turns in proportion to their weights, however many lanes
            each has; one that was idle has no claim on what it did not use. Within a tenant the longest ready lane
            comes first.
        C3. Never more lanes held of a tenant (over all workers) than its `lanes_max`; a tenant at its share costs the
            others nothing.
        C4. The turn is the lane's head event; if that event has a `window`, also the events behind it, without gap,
            that have one, up to its `events_max`. Which events a turn has is frozen by its first claim: later claims
            of it hold exactly the same.
        C5. Counts the try (tries + 1) and remembers that it is open, and whether it is `alone`.
        C6. Work to claim n lanes does not grow with the backlog, nor with lanes that are not ready.

        Answers: the turns with lease, events, the lane's state and the turn's remembered steps.
        """
        ...

    async def claim_sends(self, ask: Ask) -> tuple[HeldEffect, ...]:
        """Take the head effects of conversations whose next effect may be begun (or, DOUBT and PROBED, is to be
        probed).

        Does: C1, C2, C6 on the SENDS side; a tenant's share does not count here (limits of channels do, elsewhere).
        """
        ...

    async def renew(self, leases: Sequence[Lease], ttl: timedelta) -> tuple[Lease, ...]:
        """Keep leases for `ttl` from now.

        Does
        N1. Each lease that is still held under its era and epoch runs until `ttl` from now, also if it had run out
            unnoticed.
        Answers: those that are lost.
        """
        ...

    async def remember(
        self, lease: Lease, turn: EventId, steps: Sequence[Step] = (), flush: Sequence[EffectDraft] = ()
    ) -> Fate:
        """Keep steps of a running turn, and effects that are to go before it ends.

        Does
        M1. Under the fence, each step is kept under (turn, name, occurrence); the first value of a place wins.
        M2. Under the fence, each flushed effect is appended to its conversation as by settle (T3).
        """
        ...

    async def settle(self, settlement: Settlement) -> Settled:
        """End a turn.

        Does
        T1. Under the fence, and if the lane's open turn is `turn`. A settlement that was kept already under this epoch
            answers KEPT again (with the next turn, if that was claimed by it and is still held), and changes nothing.
        T2. Advance: the cursor passes the turn's events (DONE); state, effects, reminders, pause and the handler's SQL
            are kept with it.
        T3. Each effect whose id is not in the store takes its conversation's next oseq, in order; one that is there is
            left as it is. The conversation of one with `aliases` is found as in A10.
        T4. Delay: the head waits for `after`; tries stay (or, not `counts`, one is taken back); the turn's events stay
            frozen.
        T5. Park: the lane is PARKED with the reason until an operator acts. Tries stay.
        T6. SetAside: the events become SET_ASIDE with the reason, tries and original bytes; the cursor passes them;
            the lane goes on. Steps stay for a replay.
        T7. Any outcome ends the open try and clears the turn's deaths, and with them the tries that died: what is left
            of `tries` after a Delay are its own. Only Advance forgets the turn's steps.
        T8. A reminder of a name replaces the one of that name; a cancelled name is removed. They belong to the lane.
        T9. SQL runs after the fence, in a savepoint, at most SQL_TIME_MAX in all: if it raises or takes longer,
            nothing of the settlement is kept, and `SqlFailed` is raised to this caller only. It cannot commit, nor
            touch the store's own tables.
        T10. A pause stops both sides (Console.pause), but the effects of this settlement and those before it pass.
        T11. `keep_for`: if the lane is READY after this, its next turn is claimed (C1, C4, C5) under a new epoch and
            answered. Not when another tenant's or the own tenant's share forbids it (C3).
        """
        ...

    async def release(self, leases: Sequence[Lease], *, uncount: bool = True) -> None:
        """Give lanes back without an outcome.

        Does
        R1. Under the fence each lane rests; its open try ends, is taken back (`uncount`), and is no death.
        R2. SENDS: an effect that is PENDING or in DOUBT stays so. One that is ARMED becomes doubtful, as in `sweep` S2.
        Leases that are lost are passed over.
        """
        ...

    async def begin(self, lease: Lease, effect: EffectId, attempt: int, pace: Pace | None = None) -> Began | NotBegun:
        """Arm an effect, before its first byte.

        Requires: `attempt` is one more than the effect's `attempts` as it was claimed.
        Does
        B1. Under the fence, a PENDING head effect becomes ARMED with that attempt. ARMED already with that attempt
            under this epoch: answers the same again.
        B2. A conversation that is paused (and the pause covers the effect), an effect that was cancelled or proven
            meanwhile, and a store that has paused sending (new era): not begun, the lane rests.
        B3. Older than `terms.answer_within` (since it was asked for, or since `about_at`): REFUSED with reason "too
            old"; `on_refused` applies; the lane rests. Likewise, with `terms.window`, when the lane was never heard
            from, or longer ago than that: "the window is closed".
        B4. Its tenant or channel is held back (D9, D10): not begun; the lane waits until that is over (where only a
            release ends it: HALT_LOOK at a time). A lane that is put to rest while its PENDING head is held back waits
            at once. A DOUBT may be probed all the same: that sends nothing.
        B5. With `pace`: one that comes before its place in the channel's line (`core.pace.channel_slot`) is not begun;
            it keeps that place, and the lane waits for it. One that its conversation's pace (`pair_slot`, at that
            place) would let go later still takes no place: the lane waits for its conversation first. Both are counted
            over all callers, and only for what is begun or has a place. A place that was kept is good from its moment
            on, under any later pace; but one whose moment passed while it was held back is given up, so that not all
            of these go at once when that is over.
        """
        ...

    async def record(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None
    ) -> Recorded:
        """Write down what became of an attempt, or of a probe.

        Does
        D1. Under the fence, and for the newest attempt only. A verdict that was kept already answers KEPT again.
        D2. Confirmed: CONFIRMED with ref and receipt; sightings that were kept for the ref are applied. The next
            effect may go when the gate's receipt is reached or `wait_max` is over, and `gap` has passed since.
        D3. Deferred: PENDING, not before `after`. Not `counts`: the try is taken back. Tries used up: REFUSED, "tries
            used up".
        D4. Refused: REFUSED with code and reason; `on_refused` says whether the conversation goes on or is PARKED.
        D5. Uncertain: KEYED with tries left: PENDING, not before `after`. Otherwise DOUBT, for at most `doubt_wait`;
            PROBED: ready to be probed after `after`.
        D6. Absent (of a probe): PENDING again. A probe's Uncertain leaves it in DOUBT, to be probed again after
            `after`.
        D8. A KEYED effect that is PENDING again after an attempt without a clear answer is unproven: that attempt may
            have been taken. What would end it as not sent (a refusal, tries used up, too old) puts it in DOUBT
            instead, and it is not cancelled, by nobody. A RESEND that was declared (by policy or an operator) ends
            that.
        D9. Deferred with scope CHANNEL or TENANT: also, nothing of that channel, or of that tenant, is begun before
            `after` is over (the longer of several counts). So also if a sighting has ended this effect meanwhile.
        D10. Halted: as Deferred without counting, and nothing of its scope is begun until `Console.release`. Of the
            scope CONVERSATION: the conversation is PARKED, until it is resumed.
        D11. With `gate.unshown`: if the channel had never had a sighting of SENT or more (or a failed one; of whatever
            effect) when this one became CONFIRMED, its gate waits no longer than that.
        D7. Afterwards the lane rests; with `ttl`, if its next effect may be begun at once, it stays held, under a new
            epoch, and is answered.
        """
        ...

    async def sweep(self, rows_max: int) -> Swept:
        """Free what died, and turn what is due into work.

        Does
        S1. TURNS lanes whose lease has run out rest again; their open try ends as a death (deaths + 1, and
            deaths_alone + 1 if it was alone).
        S2. SENDS lanes whose lease has run out: an ARMED effect becomes PENDING if KEYED with tries left, else DOUBT;
            the lane rests.
        S3. Lanes whose moment has come rest anew: backoffs, windows, gates (expired ones are counted on the effect),
            ends of pauses.
        S4. At the end of a pause, pending effects that it covered and that did not ask to be kept are CANCELLED. What
            is asked for after that moment was not covered, though the sweep comes later.
        S5. A DOUBT whose wait is over: PARK: the conversation is PARKED; RESEND: PENDING, `resends` + 1
            (or, `resends_max` reached, as PARK); SKIP: SKIPPED. Of several doubts of a conversation it is parked for
            the first: when that is resolved, for the next.
        S6. Held events whose window is over are released in the source's order: each takes the next seq, and with it
            every one held that is before it in that order. A NUMBER gap that is passed so is remembered: what comes
            for it is late.
        S7. Due reminders become events of their lane, kind `reminder.<name>`, and take the next seq: first the one that
            is due first, and of those of one moment the one that was asked for first.
        Work does not grow with what is not due. At most `rows_max` of each kind.
        """
        ...

    async def prune(self, keep: timedelta, rows_max: int) -> Pruned:
        """Forget what ended longer ago than `keep`.

        Does
        P1. Removes events DONE, DROPPED or SKIPPED, their turns, ended effects, and sightings without effect, that are
            older. With an event goes the memory of its id, so `keep` is at least DEDUP_KEEP_MIN (else BadRequest).
            An effect stays at least as long as the first event of its turn: until then that turn may be tried once
            more, and what it has flushed must not be sent again.
        P2. SET_ASIDE events, quarantine and audit stay until an operator drops them. Lanes keep their counters for
            ever. Names that were retired longer ago than ALIAS_RETIRED_KEEP are forgotten, whatever `keep` is.
        """
        ...

    async def close(self) -> None:
        """Finish what was begun, and let go. Idempotent."""
        ...
