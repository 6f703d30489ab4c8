-- The line: tenants, lanes, events, turns, effects, and what an operator acts on.
--
-- All names begin with procession_, since an application may keep its own tables in the same file (turn.sql).
-- Instants and durations are whole microseconds; instants are counted from 1970 in the store's own clock.
-- `tenant` is the number of a procession_tenant, and comes first in every key. `lane` in another table is the number of a
-- row of procession_lane, that is, of one side of a lane: the turns' for events, turns and reminders, the sends' for effects.
-- Whole numbers as keys are what makes the indexes small: accepting is up to twice as fast as with the texts in them.

CREATE TABLE procession_store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    uuid TEXT NOT NULL,                         -- of this file, drawn when it was made
    era INTEGER NOT NULL DEFAULT 1,
    sending_paused INTEGER NOT NULL DEFAULT 0,
    clock INTEGER NOT NULL,                     -- high-water mark of the store's clock
    batch INTEGER NOT NULL DEFAULT 0            -- commits that wrote something: how a failed one is told from a kept one
) STRICT;

CREATE TABLE procession_tenant (
    no INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL UNIQUE,
    weight INTEGER NOT NULL DEFAULT 1,
    lanes_max INTEGER,
    pool TEXT NOT NULL DEFAULT '',
    active INTEGER NOT NULL DEFAULT 1,
    listed INTEGER NOT NULL DEFAULT 0           -- the directory knows it; else it is here since something was accepted for it
) STRICT;

CREATE TABLE procession_tally (                 -- sums since the store was made, in the same commit as what they count
    tenant INTEGER PRIMARY KEY,
    accepted INTEGER NOT NULL DEFAULT 0,        -- fresh events
    duplicates INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0,
    placed INTEGER NOT NULL DEFAULT 0,          -- events that took a seq; of reminders too
    done INTEGER NOT NULL DEFAULT 0,
    set_aside INTEGER NOT NULL DEFAULT 0,       -- also counts one again that was replayed and set aside again
    replayed INTEGER NOT NULL DEFAULT 0,        -- asides that an operator had played once more
    skipped INTEGER NOT NULL DEFAULT 0,
    lanes INTEGER NOT NULL DEFAULT 0,
    asked INTEGER NOT NULL DEFAULT 0,           -- effects
    confirmed INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    effects_skipped INTEGER NOT NULL DEFAULT 0,
    resent INTEGER NOT NULL DEFAULT 0,
    gates_expired INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE procession_lane (                  -- one side of one lane
    no INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    lane TEXT NOT NULL,
    side TEXT NOT NULL,                         -- turns, sends
    key TEXT NOT NULL,
    channel TEXT NOT NULL,
    phase TEXT NOT NULL,                        -- core.lane.Phase
    next_seq INTEGER NOT NULL,                  -- what the next event (seq) or effect (oseq) takes
    cursor INTEGER NOT NULL,                    -- turns: events up to here have been played. sends: effects up to here have ended, gate and all
    epoch INTEGER NOT NULL,
    worker TEXT NOT NULL,
    lease_until INTEGER,                        -- held only; 0: its holder is known to be dead
    ready_pos INTEGER,                          -- ready only: the order in which lanes became ready
    due_at INTEGER,                             -- when a sweep has to look again
    not_before INTEGER,                         -- turns: backoff of the head. sends: until the conversation has paid for its burst
    turn TEXT,                                  -- turns: the turn that was claimed and has not ended (its events are frozen)
    turn_last INTEGER,                          -- turns: last seq of that turn
    tries INTEGER NOT NULL,
    deaths INTEGER NOT NULL,
    deaths_alone INTEGER NOT NULL,
    first_try_at INTEGER,
    try_at INTEGER,                             -- when the newest try was claimed
    try_open INTEGER NOT NULL,                  -- 0 no, 1 open, 2 open and alone in its worker's process
    windowed INTEGER NOT NULL,                  -- turns: an event with a window has ever been placed here
    has_state INTEGER NOT NULL,                 -- there is a row in procession_state
    has_steps INTEGER NOT NULL,                 -- there may be rows in procession_step for the turn
    parked TEXT,                                -- the reason; null: not parked
    parked_for TEXT,                            -- sends: the effect that it is parked for
    paused INTEGER NOT NULL,
    paused_until INTEGER,                       -- null with `paused`: until an operator resumes it
    pause_pass INTEGER NOT NULL,                -- sends: effects up to this oseq pass the pause
    pause_keep INTEGER NOT NULL,                -- sends: effects that waited through the pause are kept
    pause_reason TEXT NOT NULL,
    settled_epoch INTEGER NOT NULL,             -- the newest epoch under which it was settled (or recorded)
    settled TEXT NOT NULL,                      -- and what was, so that a repeat is known
    chained INTEGER NOT NULL,                   -- the present hold was claimed by that same write
    replaying INTEGER NOT NULL,                 -- turns: how many set-aside events are to be played again (state replaying)
    aside_seq INTEGER,                          -- turns: `turn` is the replay of the event of this seq
    order_last INTEGER,                         -- turns: the source's number, version or time of the newest released event
    heard_at INTEGER,                           -- turns: when its subject last spoke
    burst_since INTEGER NOT NULL,               -- sends: what the conversation owes: core.pace.Burst
    burst_count INTEGER NOT NULL,
    UNIQUE (tenant, lane, side)
) STRICT;
CREATE INDEX procession_lane_ready ON procession_lane (tenant, side, ready_pos) WHERE phase = 'ready' AND deaths = 0;
CREATE INDEX procession_lane_suspect ON procession_lane (tenant, deaths DESC, ready_pos)
    WHERE phase = 'ready' AND deaths > 0;
CREATE INDEX procession_lane_lease ON procession_lane (lease_until) WHERE phase = 'held';
CREATE INDEX procession_lane_due ON procession_lane (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX procession_lane_stopped ON procession_lane (tenant, phase) WHERE phase IN ('waiting', 'paused', 'parked');

CREATE TABLE procession_state (
    lane INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT;

CREATE TABLE procession_event (
    no INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    id TEXT NOT NULL,
    lane INTEGER NOT NULL,
    seq INTEGER,                                -- null: held, or dropped
    state TEXT,                                 -- null: done if seq <= the lane's cursor, else waiting.
                                                -- Else: held, dropped, skipped, set_aside (a dead letter), replaying (it waits once more)
    channel TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    placed_at INTEGER,                          -- when it took its seq
    occurred_at INTEGER,
    late INTEGER NOT NULL,
    ended_at INTEGER,                           -- dropped, skipped, set_aside; for the others, the turn's
    reason TEXT,
    turn TEXT,                                  -- skipped, set_aside, replaying: the turn that it ended with
    order_by TEXT,                              -- the source's own order: core.event.Order
    order_key INTEGER,
    order_stale TEXT,
    order_first INTEGER,
    held_until INTEGER,
    quiet INTEGER,                              -- its window: core.event.Window
    wait_max INTEGER,
    events_max INTEGER,
    flushes INTEGER,
    payload BLOB NOT NULL,
    UNIQUE (tenant, id)
) STRICT;
CREATE UNIQUE INDEX procession_event_seq ON procession_event (tenant, lane, seq) WHERE seq IS NOT NULL;
CREATE INDEX procession_event_held ON procession_event (tenant, lane, order_key, no) WHERE state = 'held';
CREATE INDEX procession_event_held_until ON procession_event (held_until) WHERE state = 'held';
CREATE INDEX procession_event_over ON procession_event (ended_at) WHERE state IN ('dropped', 'skipped');
CREATE INDEX procession_event_aside ON procession_event (tenant, ended_at) WHERE state = 'set_aside';
CREATE INDEX procession_event_replaying ON procession_event (tenant, lane, seq) WHERE state = 'replaying';

CREATE TABLE procession_turn (                  -- turns that ended, in the order of their end
    no INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    turn TEXT NOT NULL,
    outcome TEXT NOT NULL,                      -- done, set_aside, skipped
    tries INTEGER NOT NULL,
    first_try_at INTEGER,                       -- null: skipped before it was tried
    ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX procession_turn_lane ON procession_turn (tenant, lane, first_seq);

CREATE TABLE procession_try (                   -- tries that did not end in advance
    no INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    turn TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    how TEXT NOT NULL,                          -- delayed, died, died alone, parked, set aside, released
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX procession_try_turn ON procession_try (tenant, turn);

CREATE TABLE procession_step (
    no INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    turn TEXT NOT NULL,
    name TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    value BLOB NOT NULL,
    UNIQUE (tenant, turn, name, occurrence)
) STRICT;

CREATE TABLE procession_effect (
    no INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    id TEXT NOT NULL,
    lane INTEGER NOT NULL,
    oseq INTEGER NOT NULL,
    state TEXT NOT NULL,                        -- core.effect.EffectState
    channel TEXT NOT NULL,
    turn TEXT NOT NULL,
    key TEXT NOT NULL,
    action TEXT NOT NULL,
    repeatability TEXT NOT NULL,                -- its terms: core.effect.Terms
    gate_receipt INTEGER NOT NULL,
    gate_wait_max INTEGER NOT NULL,
    gate_gap INTEGER NOT NULL,
    gate_unshown INTEGER,                       -- from its confirmation on: null if the channel had shown a status by then
    doubt TEXT NOT NULL,
    doubt_wait INTEGER NOT NULL,
    resends_max INTEGER NOT NULL,
    on_refused TEXT NOT NULL,
    tries_max INTEGER NOT NULL,
    answer_within INTEGER NOT NULL,
    window INTEGER,                             -- null: it may be sent at any time
    asked_at INTEGER NOT NULL,
    about_at INTEGER,                           -- when what it answers happened
    attempts INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    armed_epoch INTEGER,                        -- under which the newest attempt was begun
    not_before INTEGER,                         -- pending: not to be begun before. doubt: null, or (probed) not to be probed before
    doubt_until INTEGER,                        -- doubt only; null: its policy was applied
    accepted_at INTEGER,                        -- when it was first known to be accepted: gate and gap count from here
    receipt INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    ref TEXT,
    reason TEXT NOT NULL,
    resends INTEGER NOT NULL,
    unproven INTEGER NOT NULL,                  -- pending, and an earlier attempt may have been taken
    gate_expired INTEGER NOT NULL,              -- the next one went before the gate's receipt was reached
    slot_at INTEGER,                            -- pending: its place in the channel's line
    changed_at INTEGER NOT NULL,
    ended_at INTEGER,
    payload BLOB NOT NULL,
    UNIQUE (tenant, id),
    UNIQUE (tenant, lane, oseq)
) STRICT;
CREATE INDEX procession_effect_open ON procession_effect (tenant, lane, oseq) WHERE ended_at IS NULL;
CREATE INDEX procession_effect_ref ON procession_effect (tenant, channel, ref) WHERE ref IS NOT NULL;
CREATE INDEX procession_effect_doubt ON procession_effect (doubt_until) WHERE state = 'doubt';
CREATE INDEX procession_effect_ended ON procession_effect (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX procession_effect_turn ON procession_effect (tenant, turn);

CREATE TABLE procession_outlet (                -- what is known of a channel's sends as a whole, or of a tenant's
    tenant INTEGER NOT NULL,
    channel TEXT NOT NULL,                      -- '': the tenant with all its channels
    shown INTEGER NOT NULL,                     -- a status of SENT or more, or a failed one, was ever sighted
    line INTEGER NOT NULL,                      -- where an even pace stands: core.pace.channel_slot
    held_from INTEGER,                          -- null: it was never held back
    held_until INTEGER,                         -- in the past: that is over; null (with held_from): until it is released
    held_reason TEXT NOT NULL,
    PRIMARY KEY (tenant, channel)
) STRICT, WITHOUT ROWID;

CREATE TABLE procession_reminder (              -- a row stays when it has rung: its generation has to grow for ever
    tenant INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    name TEXT NOT NULL,
    generation INTEGER NOT NULL,
    due_at INTEGER,                             -- null: rung, or cancelled
    asked INTEGER NOT NULL,                     -- grows in the order in which those of a lane were asked for
    payload BLOB NOT NULL,
    PRIMARY KEY (tenant, lane, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX procession_reminder_due ON procession_reminder (due_at, asked) WHERE due_at IS NOT NULL;

CREATE TABLE procession_sighting (              -- of a reference that no effect has yet; several of one are merged
    no INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    channel TEXT NOT NULL,
    ref TEXT NOT NULL,
    receipt INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    detail TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (tenant, channel, ref)
) STRICT;
CREATE INDEX procession_sighting_at ON procession_sighting (at);

CREATE TABLE procession_quarantine (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    endpoint TEXT NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    headers TEXT NOT NULL,                      -- JSON: [[name, value], …]
    body BLOB NOT NULL
) STRICT;

CREATE TABLE procession_audit (
    no INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    tenant TEXT,
    verb TEXT NOT NULL,
    about TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX procession_audit_tenant ON procession_audit (tenant, no);
