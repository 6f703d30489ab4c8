"""Planted bugs of the stores: the fences, the places, the cursor, and what a sweep does."""

from typing import Final

from procession.testing.simulation.planted import Plant

OF_MEMORY: Final = (
    Plant(
        name="dedup-without-tenant",
        what="the same id of another tenant is taken for a duplicate",
        file="storage/memory/accept.py",
        old="    if (new.tenant, new.id) in tables.events:\n",
        new="    if any((each.new.channel, each.new.provider_id) == (new.channel, new.provider_id)\n"
        "           for each in tables.events.values()):\n",
    ),
    Plant(
        name="dedup-of-waiting-only",
        what="an event that was played already is taken once more",
        file="storage/memory/accept.py",
        old="    if (new.tenant, new.id) in tables.events:\n",
        new='    if (new.tenant, new.id) in tables.events and tables.events[new.tenant, new.id].state != "done":\n',
    ),
    Plant(
        name="duplicate-moves-its-event",
        what="a redelivery puts a lane that is parked back to work",
        file="storage/memory/accept.py",
        old="        tables.duplicates[new.tenant] = tables.duplicates.get(new.tenant, 0) + 1\n",
        new="        tables.duplicates[new.tenant] = tables.duplicates.get(new.tenant, 0) + 1\n"
        "        row = tables.lane(new.tenant, new.lane, Side.TURNS, new.lane_key, new.channel)\n"
        "        row.parked = row.backoff_until = None\n"
        '        if row.phase in ("parked", "waiting"):\n            touch(tables, row, LaneMove.RESUME, now)\n',
    ),
    Plant(
        name="seq-by-time",
        what="events of one delivery take their places by what they say of their time",
        file="storage/memory/accept.py",
        old="    placements = tuple(accept_event(tables, new, now) for new in intake.events)\n",
        new="    by_time = sorted(intake.events, key=lambda new: str(new.occurred_at))\n"
        "    found = {new.id: accept_event(tables, new, now) for new in by_time}\n"
        "    placements = tuple(found[new.id] for new in intake.events)\n",
    ),
    Plant(
        name="held-out-of-order",
        what="events that were held are released in the order of their coming",
        file="storage/memory/accept.py",
        old="    return sorted(held, key=lambda pair: pair[1].key)\n",
        new="    return held\n",
    ),
    Plant(
        name="claim-without-epoch",
        what="whoever claims a lane has the epoch of the one before",
        file="storage/memory/rest.py",
        old="    row.epoch += 1\n",
        new="    row.epoch = max(row.epoch, 1)\n",
    ),
    Plant(
        name="gate-ignored",
        what="the next effect goes without waiting for the gate of the one before",
        file="storage/memory/rest.py",
        old="    gate = effect.draft.terms.gate\n    after = effect.confirmed_at + gate.gap\n",
        new="    return now\n",
    ),
    Plant(
        name="receipt-downwards",
        what="a status that comes late overwrites a higher one",
        file="storage/memory/rest.py",
        old="    effect.receipt = max(effect.receipt, receipt)\n",
        new="    effect.receipt = receipt\n",
    ),
    Plant(
        name="window-forgotten",
        what="a burst is played at its first event",
        file="storage/memory/rest.py",
        old="    return min(newest.placed_at + newest.new.window.quiet, first + window.wait_max)\n",
        new="    return None\n",
    ),
    Plant(
        name="backoff-ignored",
        what="a turn that is to wait is claimed at once",
        file="storage/memory/settle.py",
        old="            row.backoff_until = now + delay.after\n",
        new="            row.backoff_until = None\n",
    ),
    Plant(
        name="settle-without-fence",
        what="a turn is settled by one who has lost its lane",
        file="storage/memory/settle.py",
        old="    row = fenced(tables, lease)\n"
        "    if row is None or not row.frozen or row.frozen[0] != settlement.turn:\n",
        new="    if row is None or not row.frozen or row.frozen[0] != settlement.turn:\n",
    ),
    Plant(
        name="settle-not-idempotent",
        what="a settlement that is repeated after an unknown answer is told that it is lost",
        file="storage/memory/settle.py",
        old="    if row is not None and _kept_already(tables, row, settlement):\n",
        new="    if False:\n",
    ),
    Plant(
        name="remember-without-fence",
        what="a step is remembered by one who has lost the lane",
        file="storage/memory/settle.py",
        old="    row = fenced(tables, lease)\n    if row is None or not row.frozen or row.frozen[0] != turn:\n",
        new="    row = tables.lanes.get((lease.tenant, lease.lane, lease.side))\n"
        "    if row is None or not row.frozen or row.frozen[0] != turn:\n",
    ),
    Plant(
        name="aside-without-cursor",
        what="an event is set aside, and the lane advances in another transaction, or not at all",
        file="storage/memory/settle.py",
        old="            _pass_turn(tables, row, EventState.SET_ASIDE, aside.reason, now)\n",
        new="            tables.events[row.tenant, row.frozen[0]].state = EventState.SET_ASIDE\n",
    ),
    Plant(
        name="state-apart-from-effects",
        what="a turn that asks for effects leaves its state behind",
        file="storage/memory/settle.py",
        old="    if settlement.state is not None:\n",
        new="    if settlement.state is not None and not settlement.effects:\n",
    ),
    Plant(
        name="effects-by-id",
        what="effects of one turn leave in the order of their ids",
        file="storage/memory/settle.py",
        old="    for draft in drafts:\n",
        new="    for draft in sorted(drafts, key=lambda draft: draft.id):\n",
    ),
    Plant(
        name="tries-not-counted",
        what="a try is counted when it has ended, and not before it starts",
        file="storage/memory/claim.py",
        old="    row.tries += 1\n    row.try_open,",
        new="    row.tries = max(row.tries, 1)\n    row.try_open,",
    ),
    Plant(
        name="share-ignored",
        what="a tenant holds as many lanes as it can get",
        file="storage/memory/claim.py",
        old="        if side is Side.TURNS and settings.lanes_max is not None and shares.held + taken >= "
        "settings.lanes_max:\n",
        new="        if False:\n",
    ),
    Plant(
        name="release-without-fence",
        what="one who has lost a lane gives it back for the one who holds it",
        file="storage/memory/claim.py",
        old="        row = fenced(tables, lease)\n        if row is None:\n            continue\n",
        new="        row = tables.lanes.get((lease.tenant, lease.lane, lease.side))\n"
        "        if row is None or row.phase is not Phase.HELD:\n            continue\n",
    ),
    Plant(
        name="renew-without-fence",
        what="a lease that another has is renewed",
        file="storage/memory/claim.py",
        old="        row = fenced(tables, lease)\n        if row is None:\n            lost.append(lease)\n",
        new="        row = tables.lanes.get((lease.tenant, lease.lane, lease.side))\n"
        "        if row is None or row.phase is not Phase.HELD:\n            lost.append(lease)\n",
    ),
    Plant(
        name="era-ignored",
        what="a lease of the era before is as good as any",
        file="storage/memory/claim.py",
        old="    if row is None or row.phase is not Phase.HELD or lease.era != tables.era or lease.epoch != "
        "row.epoch:\n",
        new="    if row is None or row.phase not in (Phase.HELD, Phase.READY) or lease.epoch != row.epoch:\n",
    ),
    Plant(
        name="begin-without-fence",
        what="an effect is begun by one who has lost its conversation",
        file="storage/memory/sends.py",
        old="    row = fenced(tables, lease)\n    effect = tables.effects.get((lease.tenant, effect_id))\n"
        "    if row is None or effect is None or effect.draft.lane != row.lane or lease.side is not Side.SENDS:\n"
        "        return NotBegun(",
        new="    row = tables.lanes.get((lease.tenant, lease.lane, lease.side))\n"
        "    effect = tables.effects.get((lease.tenant, effect_id))\n"
        "    if row is None or effect is None or effect.draft.lane != row.lane or row.phase is not Phase.HELD:\n"
        "        return NotBegun(",
    ),
    Plant(
        name="begin-not-idempotent",
        what="a begin that is repeated after an unknown answer is told that it is armed already",
        file="storage/memory/sends.py",
        old="    if effect.state is EffectState.ARMED and effect.attempts == attempt and effect.armed_epoch "
        "== lease.epoch:\n",
        new="    if False:\n",
    ),
    Plant(
        name="record-without-fence",
        what="a verdict is recorded by one who has lost its conversation",
        file="storage/memory/sends.py",
        old="    row = fenced(tables, lease)\n    effect = tables.effects.get((lease.tenant, effect_id))\n"
        "    if row is None or effect is None or effect.draft.lane != row.lane or lease.side is not Side.SENDS:\n"
        "        return Recorded(",
        new="    row = tables.lanes.get((lease.tenant, lease.lane, lease.side))\n"
        "    effect = tables.effects.get((lease.tenant, effect_id))\n"
        "    if row is None or effect is None or effect.draft.lane != row.lane:\n"
        "        return Recorded(",
    ),
    Plant(
        name="uncertain-is-sent-again",
        what="whatever ended without an answer is simply tried again",
        file="storage/memory/doubt.py",
        old="    if terms.repeatability is Repeatability.KEYED and effect.tries < terms.tries_max:\n",
        new="    if effect.tries < terms.tries_max:\n",
    ),
    Plant(
        name="takeover-is-sent-again",
        what="an armed effect whose sender is gone is tried again by the next one",
        file="storage/memory/doubt.py",
        old="    become_uncertain(effect, reason, timedelta(0), now)\n",
        new='    effect.state, effect.not_before = type(effect.state)("pending"), None\n',
    ),
    Plant(
        name="absence-is-proof",
        what="a doubt for which no status has come is taken for not sent",
        file="storage/memory/doubt.py",
        old="            effect.doubt_parked = True\n",
        new="            effect.state = moved(effect.state, EffectMove.ABSENT)\n",
    ),
    Plant(
        name="crash-loop-not-counted",
        what="a try that ends with its process is forgotten",
        file="storage/memory/sweep.py",
        old="    row.deaths += 1\n",
        new="    row.deaths += 0\n",
    ),
    Plant(
        name="reminder-twice",
        what="a reminder rings once more",
        file="storage/memory/sweep.py",
        old="        del tables.reminders[reminder.tenant, reminder.lane, reminder.name]\n"
        "        accept_event(tables, _event_of(reminder), now)\n",
        new="        if reminder.generation > 1_000:\n"
        "            del tables.reminders[reminder.tenant, reminder.lane, reminder.name]\n"
        "        accept_event(tables, _event_of(reminder), now)\n"
        "        reminder.generation += 1_000\n        reminder.due_at = now + timedelta(seconds=1)\n",
    ),
    Plant(
        name="leases-freed-early",
        what="a lease is over before its time",
        file="storage/memory/sweep.py",
        old="row.lease_until is not None and row.lease_until <= now]\n    for row in expired",
        new="row.lease_until is not None and row.lease_until <= now + timedelta(seconds=1)]\n    for row in expired",
    ),
    Plant(
        name="replay-takes-a-new-seq",
        what="a replayed event goes to the end of its lane",
        file="storage/memory/console.py",
        old="            row.replays.append(event)\n",
        new="            row.last += 1\n"
        "            found.seq = row.last\n"
        "            self._tables.places[tenant, row.lane, row.last] = event\n",
    ),
    Plant(
        name="pause-forgets-sends",
        what="a paused conversation still sends",
        file="storage/memory/rest.py",
        old="        pause_applies=row.paused and (head is None or head.oseq > row.pause_cover),\n",
        new="        pause_applies=False,\n",
    ),
)

OF_SQLITE: Final = (
    Plant(
        name="sqlite-no-fence",
        what="a write names an epoch, and nobody compares it",
        file="storage/ledger/book.py",
        old="        return lane if lane is not None and lane.phase == HELD and lane.epoch == lease.epoch else None\n",
        new="        return lane if lane is not None and lane.phase == HELD else None\n",
        store="sqlite",
    ),
    Plant(
        name="sqlite-stale-memory",
        what="what a transaction that was rolled back has changed stays in memory",
        file="storage/sqlite/batches.py",
        old="        self.book.forget()\n        self.book.shares.rollback()\n",
        new="        self.book.shares.rollback()\n",
        store="embedded",
    ),
    Plant(
        name="sqlite-goes-on-after-failed-sync",
        what="after a commit of unknown outcome the store goes on with the same handle",
        file="storage/sqlite/batches.py",
        old="        self.broken = self.broken or error\n",
        new="        del error\n",
        store="embedded",
    ),
    Plant(
        name="sqlite-unknown-is-kept",
        what="a commit of unknown outcome is answered as if it were kept",
        file="storage/sqlite/batches.py",
        old='            _tell(works, OutcomeUnknown(f"the store failed: {_words(error)}"))\n',
        new="            del works\n",
        store="embedded",
    ),
    Plant(
        name="sqlite-steps-of-others",
        what="steps are looked for without the turn that they belong to",
        file="storage/sqlite/sql/claim.sql",
        old="SELECT name, occurrence, value FROM procession_step WHERE tenant = ? AND turn = ?",
        new="SELECT name, occurrence, value FROM procession_step WHERE tenant = ? AND turn <> ?",
        store="embedded",
    ),
    Plant(
        name="sqlite-step-overwritten",
        what="the newest content of a step wins",
        file="storage/sqlite/sql/settle.sql",
        old="ON CONFLICT (tenant, turn, name, occurrence) DO NOTHING;",
        new="ON CONFLICT (tenant, turn, name, occurrence) DO UPDATE SET value = x'7b7d';",
        store="sqlite",
    ),
    Plant(
        name="sqlite-leases-freed-early",
        what="a lease is over two seconds before its time",
        file="storage/sqlite/sql/sweep.sql",
        old="WHERE lane.phase = 'held' AND lane.lease_until <= ?\n",
        new="WHERE lane.phase = 'held' AND lane.lease_until <= ? + 2000000\n",
        store="sqlite",
    ),
    Plant(
        name="sqlite-reminder-twice",
        what="a reminder that has rung stays set",
        file="storage/sqlite/sql/sweep.sql",
        old="UPDATE procession_reminder SET due_at = NULL, payload = x''",
        new="UPDATE procession_reminder SET due_at = due_at + 900000, generation = generation + 1",
        store="embedded",
    ),
    Plant(
        name="sqlite-held-without-order",
        what="held events are released in the order of their coming",
        file="storage/sqlite/sql/accept.sql",
        old="ORDER BY order_key, no;",
        new="ORDER BY no;",
        store="embedded",
    ),
    Plant(
        name="sqlite-share-forgotten",
        what="lanes that are held when the engine starts are not counted against their tenant's share",
        file="storage/sqlite/sql/store.sql",
        old="WHERE phase = 'held' GROUP BY tenant, side;",
        new="WHERE phase = 'nothing' GROUP BY tenant, side;",
        store="embedded",
    ),
)

PLANTS: Final = (
    *(
        Plant(name=each.name, what=each.what, file=each.file, old=each.old, new=each.new, store="memory")
        for each in OF_MEMORY
    ),
    *OF_SQLITE,
)
