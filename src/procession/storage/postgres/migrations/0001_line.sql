-- The line: tenants, lanes, events, turns, effects, and what an operator acts on.
--
-- Ensures: every key begins with the tenant, so that the tables can be spread over machines by tenant as they are; what belongs
-- to no tenant (the store's own row, the directory, quarantine, audit) is small, and stays in one place.
-- Indexes: each with the statements that it serves, in sql/. Those of what is ready, held or due are partial: what is not, is
-- not in them.
-- Locks: made in one transaction, by one process at a time.
--
-- All names begin with procession_, since an application may keep its own tables in the same database (turn.sql).
-- Instants and durations are whole microseconds; instants are counted from 1970 in the store's own clock.
-- `tenant` is the number of a procession_tenant. `lane` in another table is the number of a row of procession_lane, that is, of
-- one side of a lane: the turns' for events, turns and reminders, the sends' for effects.

CREATE TABLE procession_store (
    one bigint PRIMARY KEY CHECK (one = 1),
    uuid text NOT NULL,                         -- drawn when it was made
    schema bigint NOT NULL,                     -- the newest migration that was run
    era bigint NOT NULL DEFAULT 1,
    sending_paused bigint NOT NULL DEFAULT 0,
    cluster text NOT NULL,                      -- where it lives: another, or another timeline, and writes may be missing
    timeline text NOT NULL
);
CREATE SEQUENCE procession_clock MINVALUE 0 START 0;    -- high-water mark of the store's clock
CREATE SEQUENCE procession_steps INCREMENT BY 65536;    -- a transaction that counts something takes a step, and counts within it

CREATE TABLE procession_tenant (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL UNIQUE,
    weight bigint NOT NULL DEFAULT 1,
    lanes_max bigint,
    pool text NOT NULL DEFAULT '',
    active bigint NOT NULL DEFAULT 1,
    listed bigint NOT NULL DEFAULT 0           -- the directory knows it; else it is here since something was accepted for it
);

CREATE TABLE procession_tally (                 -- sums since the store was made, in the same commit as what they count
    tenant bigint NOT NULL,
    slot bigint NOT NULL,                       -- of the process that counted
    accepted bigint NOT NULL DEFAULT 0,        -- fresh events
    duplicates bigint NOT NULL DEFAULT 0,
    dropped bigint NOT NULL DEFAULT 0,
    placed bigint NOT NULL DEFAULT 0,          -- events that took a seq; of reminders too
    done bigint NOT NULL DEFAULT 0,
    set_aside bigint NOT NULL DEFAULT 0,       -- also counts one again that was replayed and set aside again
    replayed bigint NOT NULL DEFAULT 0,        -- asides that an operator had played once more
    skipped bigint NOT NULL DEFAULT 0,
    lanes bigint NOT NULL DEFAULT 0,
    asked bigint NOT NULL DEFAULT 0,           -- effects
    confirmed bigint NOT NULL DEFAULT 0,
    refused bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    effects_skipped bigint NOT NULL DEFAULT 0,
    resent bigint NOT NULL DEFAULT 0,
    gates_expired bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, slot)
) WITH (fillfactor = 50);

CREATE TABLE procession_lane (                  -- one side of one lane
    no bigint NOT NULL,
    tenant bigint NOT NULL,
    lane text NOT NULL,
    side text NOT NULL,                         -- turns, sends
    key text NOT NULL,
    channel text NOT NULL,
    phase text NOT NULL,                        -- core.lane.Phase
    next_seq bigint NOT NULL,                  -- what the next event (seq) or effect (oseq) takes
    cursor bigint NOT NULL,                    -- turns: events up to here have been played. sends: effects up to here have ended, gate and all
    epoch bigint NOT NULL,
    worker text NOT NULL,
    lease_until bigint,                        -- held only; 0: its holder is known to be dead
    ready_pos bigint,                          -- ready only: the order in which lanes became ready
    due_at bigint,                             -- when a sweep has to look again
    not_before bigint,                         -- turns: backoff of the head. sends: until the conversation has paid for its burst
    turn text,                                  -- turns: the turn that was claimed and has not ended (its events are frozen)
    turn_last bigint,                          -- turns: last seq of that turn
    tries bigint NOT NULL,
    deaths bigint NOT NULL,
    deaths_alone bigint NOT NULL,
    first_try_at bigint,
    try_at bigint,                             -- when the newest try was claimed
    try_open bigint NOT NULL,                  -- 0 no, 1 open, 2 open and alone in its worker's process
    windowed bigint NOT NULL,                  -- turns: an event with a window has ever been placed here
    has_state bigint NOT NULL,                 -- there is a row in procession_state
    has_steps bigint NOT NULL,                 -- there may be rows in procession_step for the turn
    parked text,                                -- the reason; null: not parked
    parked_for text,                            -- sends: the effect that it is parked for
    paused bigint NOT NULL,
    paused_until bigint,                       -- null with `paused`: until an operator resumes it
    pause_pass bigint NOT NULL,                -- sends: effects up to this oseq pass the pause
    pause_keep bigint NOT NULL,                -- sends: effects that waited through the pause are kept
    pause_reason text NOT NULL,
    settled_epoch bigint NOT NULL,             -- the newest epoch under which it was settled (or recorded)
    settled text NOT NULL,                      -- and what was, so that a repeat is known
    chained bigint NOT NULL,                   -- the present hold was claimed by that same write
    replaying bigint NOT NULL,                 -- turns: how many set-aside events are to be played again (state replaying)
    aside_seq bigint,                          -- turns: `turn` is the replay of the event of this seq
    order_last bigint,                         -- turns: the source's number, version or time of the newest released event
    heard_at bigint,                           -- turns: when its subject last spoke
    burst_since bigint NOT NULL,               -- sends: what the conversation owes: core.pace.Burst
    burst_count bigint NOT NULL,
    named bigint NOT NULL,                      -- turns: names have led to it
    merged_into bigint,                         -- the lane, of the same side, that goes on for it
    closing bigint NOT NULL,                    -- it was merged and has not come to its end
    merging bigint NOT NULL,                    -- how many were merged into this one and have not
    PRIMARY KEY (tenant, no),
    UNIQUE (tenant, lane, side)
) WITH (fillfactor = 70);
CREATE INDEX procession_lane_ready_turns ON procession_lane (tenant, ready_pos)
    WHERE phase = 'ready' AND deaths = 0 AND side = 'turns';
CREATE INDEX procession_lane_ready_sends ON procession_lane (tenant, ready_pos)
    WHERE phase = 'ready' AND deaths = 0 AND side = 'sends';
CREATE INDEX procession_lane_suspect ON procession_lane (tenant, deaths DESC, ready_pos)
    WHERE phase = 'ready' AND deaths > 0;
CREATE INDEX procession_lane_lease ON procession_lane (lease_until) WHERE phase = 'held';
CREATE INDEX procession_lane_held ON procession_lane (tenant) WHERE phase = 'held' AND side = 'turns';
CREATE INDEX procession_lane_due ON procession_lane (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX procession_lane_stopped ON procession_lane (tenant, phase) WHERE phase IN ('waiting', 'paused', 'parked');

CREATE TABLE procession_state (
    tenant bigint NOT NULL,
    lane bigint NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (tenant, lane)
);

CREATE TABLE procession_event (
    no bigint GENERATED ALWAYS AS IDENTITY,
    tenant bigint NOT NULL,
    id text NOT NULL,
    lane bigint NOT NULL,
    seq bigint,                                -- null: held, or dropped
    state text,                                 -- null: done if seq <= the lane's cursor, else waiting.
                                                -- Else: held, dropped, skipped, set_aside (a dead letter), replaying (it waits once more)
    channel text NOT NULL,
    provider_id text NOT NULL,
    kind text NOT NULL,
    accepted_at bigint NOT NULL,
    placed_at bigint,                          -- when it took its seq
    occurred_at bigint,
    late bigint NOT NULL,
    ended_at bigint,                           -- dropped, skipped, set_aside; for the others, the turn's
    reason text,
    turn text,                                  -- skipped, set_aside, replaying: the turn that it ended with
    order_by text,                              -- the source's own order: core.event.Order
    order_key bigint,
    order_stale text,
    order_first bigint,
    held_until bigint,
    quiet bigint,                              -- its window: core.event.Window
    wait_max bigint,
    events_max bigint,
    flushes bigint,
    payload bytea NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX procession_event_seq ON procession_event (tenant, lane, seq) WHERE seq IS NOT NULL;
CREATE INDEX procession_event_held ON procession_event (tenant, lane, order_key, no) WHERE state = 'held';
CREATE INDEX procession_event_held_until ON procession_event (held_until) WHERE state = 'held';
CREATE INDEX procession_event_over ON procession_event (ended_at) WHERE state IN ('dropped', 'skipped');
CREATE INDEX procession_event_aside ON procession_event (tenant, ended_at) WHERE state = 'set_aside';
CREATE INDEX procession_event_replaying ON procession_event (tenant, lane, seq) WHERE state = 'replaying';

CREATE TABLE procession_turn (                  -- turns that ended, in the order of their end
    no bigint GENERATED ALWAYS AS IDENTITY,
    tenant bigint NOT NULL,
    lane bigint NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    turn text NOT NULL,
    outcome text NOT NULL,                      -- done, set_aside, skipped
    tries bigint NOT NULL,
    first_try_at bigint,                       -- null: skipped before it was tried
    ended_at bigint NOT NULL,
    PRIMARY KEY (tenant, no)
);
CREATE INDEX procession_turn_ended ON procession_turn (ended_at, no);
CREATE INDEX procession_turn_lane ON procession_turn (tenant, lane, first_seq);

CREATE TABLE procession_try (                   -- tries that did not end in advance
    no bigint GENERATED ALWAYS AS IDENTITY,
    tenant bigint NOT NULL,
    turn text NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    how text NOT NULL,                          -- delayed, died, died alone, parked, set aside, released
    reason text NOT NULL,
    PRIMARY KEY (tenant, no)
);
CREATE INDEX procession_try_turn ON procession_try (tenant, turn);

CREATE TABLE procession_step (
    tenant bigint NOT NULL,
    turn text NOT NULL,
    name text NOT NULL,
    occurrence bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (tenant, turn, name, occurrence)
);

CREATE TABLE procession_effect (
    no bigint GENERATED ALWAYS AS IDENTITY,
    tenant bigint NOT NULL,
    id text NOT NULL,
    lane bigint NOT NULL,
    oseq bigint NOT NULL,
    state text NOT NULL,                        -- core.effect.EffectState
    channel text NOT NULL,
    turn text NOT NULL,
    key text NOT NULL,
    action text NOT NULL,
    repeatability text NOT NULL,                -- its terms: core.effect.Terms
    gate_receipt bigint NOT NULL,
    gate_wait_max bigint NOT NULL,
    gate_gap bigint NOT NULL,
    gate_unshown bigint,                       -- from its confirmation on: null if the channel had shown a status by then
    doubt text NOT NULL,
    doubt_wait bigint NOT NULL,
    resends_max bigint NOT NULL,
    on_refused text NOT NULL,
    tries_max bigint NOT NULL,
    answer_within bigint NOT NULL,
    "window" bigint,                             -- null: it may be sent at any time
    asked_at bigint NOT NULL,
    about_at bigint,                           -- when what it answers happened
    attempts bigint NOT NULL,
    tries bigint NOT NULL,
    armed_epoch bigint,                        -- under which the newest attempt was begun
    not_before bigint,                         -- pending: not to be begun before. doubt: null, or (probed) not to be probed before
    doubt_until bigint,                        -- doubt only; null: its policy was applied
    accepted_at bigint,                        -- when it was first known to be accepted: gate and gap count from here
    receipt bigint NOT NULL,
    failed bigint NOT NULL,
    ref text,
    reason text NOT NULL,
    resends bigint NOT NULL,
    unproven bigint NOT NULL,                  -- pending, and an earlier attempt may have been taken
    gate_expired bigint NOT NULL,              -- the next one went before the gate's receipt was reached
    slot_at bigint,                            -- pending: its place in the channel's line
    changed_at bigint NOT NULL,
    ended_at bigint,
    payload bytea NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, lane, oseq)
);
CREATE INDEX procession_effect_open ON procession_effect (tenant, lane, oseq) WHERE ended_at IS NULL;
CREATE INDEX procession_effect_ref ON procession_effect (tenant, channel, ref) WHERE ref IS NOT NULL;
CREATE INDEX procession_effect_doubt ON procession_effect (doubt_until) WHERE state = 'doubt';
CREATE INDEX procession_effect_ended ON procession_effect (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX procession_effect_turn ON procession_effect (tenant, turn);

CREATE TABLE procession_outlet (                -- what is known of a channel's sends as a whole, or of a tenant's
    tenant bigint NOT NULL,
    channel text NOT NULL,                      -- '': the tenant with all its channels
    shown bigint NOT NULL,                     -- a status of SENT or more, or a failed one, was ever sighted
    line bigint NOT NULL,                      -- where an even pace stands: core.pace.channel_slot
    held_from bigint,                          -- null: it was never held back
    held_until bigint,                         -- in the past: that is over; null (with held_from): until it is released
    held_reason text NOT NULL,
    PRIMARY KEY (tenant, channel)
);

CREATE TABLE procession_reminder (              -- a row stays when it has rung: its generation has to grow for ever
    tenant bigint NOT NULL,
    lane bigint NOT NULL,
    name text NOT NULL,
    generation bigint NOT NULL,
    due_at bigint,                             -- null: rung, or cancelled
    asked bigint NOT NULL,                     -- grows in the order in which those of a lane were asked for
    payload bytea NOT NULL,
    PRIMARY KEY (tenant, lane, name)
);
CREATE INDEX procession_reminder_due ON procession_reminder (due_at, asked) WHERE due_at IS NOT NULL;

CREATE TABLE procession_sighting (              -- of a reference that no effect has yet; several of one are merged
    tenant bigint NOT NULL,
    channel text NOT NULL,
    ref text NOT NULL,
    receipt bigint NOT NULL,
    failed bigint NOT NULL,
    detail text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, channel, ref)
);
CREATE INDEX procession_sighting_at ON procession_sighting (at);

CREATE TABLE procession_quarantine (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    endpoint text NOT NULL,
    at bigint NOT NULL,
    reason text NOT NULL,
    headers text NOT NULL,                      -- JSON: [[name, value], …]
    body bytea NOT NULL
);

CREATE TABLE procession_audit (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    actor text NOT NULL,
    tenant text,
    verb text NOT NULL,
    about text NOT NULL,
    detail text NOT NULL
);
CREATE INDEX procession_audit_tenant ON procession_audit (tenant, no);

-- Settings are JSON documents: they are read whole, compared whole, and never searched.

CREATE TABLE procession_directory (
    one bigint PRIMARY KEY CHECK (one = 1),
    version bigint NOT NULL,
    endpoints text NOT NULL,                    -- JSON: ports.directory.Endpoint, …
    channels text NOT NULL,                     -- JSON: ports.directory.Channel, …
    collects text NOT NULL                      -- JSON: ports.directory.CollectRule, …
);

CREATE TABLE procession_secret (                -- of the platform: tenant ''
    tenant text NOT NULL,
    name text NOT NULL,
    key_version bigint NOT NULL,
    box bytea NOT NULL,
    fingerprint text NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE TABLE procession_data_key (
    tenant text NOT NULL,
    version bigint NOT NULL,
    box bytea NOT NULL,
    seals bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, version)
);

CREATE INDEX procession_lane_paused ON procession_lane (tenant) WHERE paused = 1;
CREATE INDEX procession_lane_parked ON procession_lane (tenant) WHERE parked IS NOT NULL;

-- Names lead to lanes. `lane` is the number of the turns' side; where several lanes were merged, of the one that goes on.

CREATE TABLE procession_name (
    tenant bigint NOT NULL,
    channel text NOT NULL,
    name text NOT NULL,
    lane bigint NOT NULL,
    newest bigint NOT NULL,                    -- grows: which of a lane's names was heard last
    retired_at bigint,                         -- it is the subject's no more, and leads there for a while yet
    PRIMARY KEY (tenant, channel, name)
);
CREATE INDEX procession_name_lane ON procession_name (tenant, lane, newest);
CREATE INDEX procession_name_retired ON procession_name (retired_at) WHERE retired_at IS NOT NULL;

CREATE INDEX procession_lane_closing ON procession_lane (tenant, merged_into) WHERE closing = 1;

CREATE INDEX procession_audit_opened ON procession_audit (at) WHERE verb = 'secret open';
