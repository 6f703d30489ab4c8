-- The rows that every operation reads and writes.
--
-- Ensures: a lane is written only over the epoch that it was read under, and in the era that the batch began in (save_lane; the
-- caller makes sure that one row was touched), so that nothing is written under a lease that is not the present one.
-- Indexes: the unique keys of procession_lane (tenant, lane, side) and procession_effect (tenant, id), (tenant, lane, oseq);
-- that of procession_outlet (tenant, channel).
-- Locks: load_lane and load_lane_numbered take the lane, if nobody has it; lock_lanes and lock_outlets wait for theirs, in
-- one order, before anything else of the batch is locked. A tenant's tally is locked last, and in the tenants' order.

-- :insert_tenant
-- Several processes may be the first to hear of it.
INSERT INTO procession_tenant (tenant) VALUES ($1)
ON CONFLICT (tenant) DO UPDATE SET tenant = excluded.tenant
RETURNING no, tenant, weight, lanes_max, pool, active;

-- :insert_tenants
INSERT INTO procession_tenant (tenant) SELECT name FROM unnest($1::text[]) AS name ORDER BY name
ON CONFLICT (tenant) DO NOTHING;

-- :find_tenant
SELECT no, tenant, weight, lanes_max, pool, active FROM procession_tenant WHERE tenant = $1;

-- :find_tenant_numbered
SELECT no, tenant, weight, lanes_max, pool, active FROM procession_tenant WHERE no = $1;

-- :tenants
SELECT no, tenant, weight, lanes_max, pool, active FROM procession_tenant ORDER BY no;

-- :load_lane
SELECT lane.* FROM procession_lane AS lane WHERE lane.tenant = $1 AND lane.lane = $2 AND lane.side = $3
FOR UPDATE NOWAIT;

-- :load_lane_numbered
SELECT lane.* FROM procession_lane AS lane WHERE lane.tenant = $1 AND lane.no = $2
FOR UPDATE NOWAIT;

-- :lock_lanes
-- By name, and by number: those that an earlier try of the same batch has met.
SELECT lane.* FROM procession_lane AS lane
WHERE (lane.tenant, lane.lane) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
    OR (lane.tenant, lane.no) IN (SELECT * FROM unnest($3::bigint[], $4::bigint[]))
ORDER BY lane.tenant, lane.lane, lane.side DESC
FOR UPDATE;

-- :lock_outlets
SELECT tenant, channel, shown, line, held_from, held_until, held_reason FROM procession_outlet
WHERE (tenant, channel) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
ORDER BY tenant, channel
FOR UPDATE;

-- :save_lane
UPDATE procession_lane SET
    phase = $1, next_seq = $2, cursor = $3, epoch = $4, worker = $5, lease_until = $6, ready_pos = $7, due_at = $8,
    not_before = $9, turn = $10, turn_last = $11, tries = $12, deaths = $13, deaths_alone = $14, first_try_at = $15, try_at
    = $16, try_open = $17, windowed = $18, has_state = $19, has_steps = $20, parked = $21, parked_for = $22, paused = $23,
    paused_until = $24, pause_pass = $25, pause_keep = $26, pause_reason = $27, settled_epoch = $28, settled = $29,
    chained = $30, replaying = $31, aside_seq = $32, order_last = $33, heard_at = $34, burst_since = $35, burst_count = $36,
    named = $37, merged_into = $38, closing = $39, merging = $40
WHERE no = $41 AND tenant = $42 AND epoch = $43 AND (SELECT era FROM procession_store) = $44;

-- :grow_lane
-- No column of an index: a lane that only grows costs the write of its row.
UPDATE procession_lane SET next_seq = $1, heard_at = $2 WHERE no = $3 AND tenant = $4 AND epoch = $5 AND (SELECT era FROM procession_store) = $6;

-- :insert_lane
INSERT INTO procession_lane (
    phase, next_seq, cursor, epoch, worker, lease_until, ready_pos, due_at, not_before, turn, turn_last,
    tries, deaths, deaths_alone, first_try_at, try_at, try_open, windowed, has_state, has_steps, parked,
    parked_for, paused, paused_until, pause_pass, pause_keep, pause_reason, settled_epoch, settled, chained,
    replaying, aside_seq, order_last, heard_at, burst_since, burst_count, named, merged_into, closing,
    merging, no, tenant, lane, side, key, channel
) VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
    $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46
);

-- :load_effect
SELECT
    no, tenant, id, lane, oseq, state, channel, turn, key, action, repeatability, gate_receipt, gate_wait_max,
    gate_gap, gate_unshown, doubt, doubt_wait, resends_max, on_refused, tries_max, answer_within, "window", asked_at,
    about_at, attempts, tries, armed_epoch, not_before, doubt_until, accepted_at, receipt, failed, ref, reason,
    resends, unproven, gate_expired, slot_at, changed_at, ended_at
FROM procession_effect WHERE tenant = $1 AND id = $2;

-- :load_effect_at
SELECT
    no, tenant, id, lane, oseq, state, channel, turn, key, action, repeatability, gate_receipt, gate_wait_max,
    gate_gap, gate_unshown, doubt, doubt_wait, resends_max, on_refused, tries_max, answer_within, "window", asked_at,
    about_at, attempts, tries, armed_epoch, not_before, doubt_until, accepted_at, receipt, failed, ref, reason,
    resends, unproven, gate_expired, slot_at, changed_at, ended_at
FROM procession_effect WHERE tenant = $1 AND lane = $2 AND oseq = $3;

-- :save_effect
UPDATE procession_effect SET
    state = $1, attempts = $2, tries = $3, armed_epoch = $4, not_before = $5, doubt_until = $6, accepted_at = $7, receipt = $8,
    failed = $9, ref = $10, reason = $11, resends = $12, unproven = $13, gate_expired = $14, gate_unshown = $15, slot_at = $16,
    changed_at = $17, ended_at = $18
WHERE id = $19 AND tenant = $20;

-- :load_outlet
SELECT tenant, channel, shown, line, held_from, held_until, held_reason
FROM procession_outlet WHERE tenant = $1 AND channel = $2;

-- :outlet_as_read
-- Whoever writes one has to have seen what is there: it is taken, and read once more.
SELECT tenant, channel, shown, line, held_from, held_until, held_reason
FROM procession_outlet WHERE tenant = $1 AND channel = $2
FOR UPDATE NOWAIT;

-- :insert_outlet
INSERT INTO procession_outlet (tenant, channel, shown, line, held_from, held_until, held_reason)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant, channel) DO NOTHING;

-- :save_outlet
UPDATE procession_outlet SET shown = $3, line = $4, held_from = $5, held_until = $6, held_reason = $7
WHERE tenant = $1 AND channel = $2;

-- :insert_turn
INSERT INTO procession_turn (tenant, lane, first_seq, last_seq, turn, outcome, tries, first_try_at, ended_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- :tally
-- Each process has rows of its own, so that no tenant's commits wait for one another; readers add them up.
INSERT INTO procession_tally AS own (
    tenant, slot,
    accepted, duplicates, dropped, placed, done, set_aside, replayed, skipped, lanes, asked, confirmed,
    refused, cancelled, effects_skipped, resent, gates_expired
) VALUES (
    :tenant, :slot,
    :accepted, :duplicates, :dropped, :placed, :done, :set_aside, :replayed, :skipped, :lanes, :asked,
    :confirmed, :refused, :cancelled, :effects_skipped, :resent, :gates_expired
)
ON CONFLICT (tenant, slot) DO UPDATE SET
    accepted = own.accepted + excluded.accepted,
    duplicates = own.duplicates + excluded.duplicates,
    dropped = own.dropped + excluded.dropped,
    placed = own.placed + excluded.placed,
    done = own.done + excluded.done,
    set_aside = own.set_aside + excluded.set_aside,
    replayed = own.replayed + excluded.replayed,
    skipped = own.skipped + excluded.skipped,
    lanes = own.lanes + excluded.lanes,
    asked = own.asked + excluded.asked,
    confirmed = own.confirmed + excluded.confirmed,
    refused = own.refused + excluded.refused,
    cancelled = own.cancelled + excluded.cancelled,
    effects_skipped = own.effects_skipped + excluded.effects_skipped,
    resent = own.resent + excluded.resent,
    gates_expired = own.gates_expired + excluded.gates_expired;

-- :hold
-- Of two that do the same at once one gives way, and waits at the beginning of its next try (wait_for): a lock that is waited
-- for out of order is how deadlocks begin.
SELECT pg_try_advisory_xact_lock(hashtextextended($1::text, 7));

-- :hold_all
SELECT name FROM unnest($1::text[]) AS name WHERE pg_try_advisory_xact_lock(hashtextextended(name, 7));

-- :wait_for
SELECT pg_advisory_xact_lock(hash)
FROM (SELECT hashtextextended(name, 7) AS hash FROM unnest($1::text[]) AS name ORDER BY 1) AS sorted;
