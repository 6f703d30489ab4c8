-- The rows that every operation reads and writes.
--
-- Ensures: a lane is written only over the epoch that it was read under (save_lane; the caller asserts that one row was
-- touched), so that nothing is written under a lease that is not the present one.
-- Indexes: the unique keys of procession_lane (tenant, lane, side) and procession_effect (tenant, id), (tenant, lane, oseq);
-- that of procession_outlet (tenant, channel).
-- Locks: none but the write transaction that the writer has begun.

-- :insert_tenant
INSERT INTO procession_tenant (tenant) VALUES (?) RETURNING no;

-- :tenants
SELECT no, tenant, weight, lanes_max, pool, active FROM procession_tenant ORDER BY no;

-- :load_lane
SELECT lane.* FROM procession_lane AS lane WHERE lane.tenant = ? AND lane.lane = ? AND lane.side = ?;

-- :load_lane_numbered
SELECT lane.* FROM procession_lane AS lane WHERE lane.tenant = ? AND lane.no = ?;

-- :save_lane
UPDATE procession_lane SET
    phase = ?, next_seq = ?, cursor = ?, epoch = ?, worker = ?, lease_until = ?, ready_pos = ?, due_at = ?,
    not_before = ?, turn = ?, turn_last = ?, tries = ?, deaths = ?, deaths_alone = ?, first_try_at = ?, try_at
    = ?, try_open = ?, windowed = ?, has_state = ?, has_steps = ?, parked = ?, parked_for = ?, paused = ?,
    paused_until = ?, pause_pass = ?, pause_keep = ?, pause_reason = ?, settled_epoch = ?, settled = ?,
    chained = ?, replaying = ?, aside_seq = ?, order_last = ?, heard_at = ?, burst_since = ?, burst_count = ?,
    named = ?, merged_into = ?, closing = ?, merging = ?
WHERE no = ? AND epoch = ?;

-- :grow_lane
-- No column of an index: a lane that only grows costs the write of its row.
UPDATE procession_lane SET next_seq = ?, heard_at = ? WHERE no = ? AND epoch = ?;

-- :insert_lane
INSERT INTO procession_lane (
    phase, next_seq, cursor, epoch, worker, lease_until, ready_pos, due_at, not_before, turn, turn_last,
    tries, deaths, deaths_alone, first_try_at, try_at, try_open, windowed, has_state, has_steps, parked,
    parked_for, paused, paused_until, pause_pass, pause_keep, pause_reason, settled_epoch, settled, chained,
    replaying, aside_seq, order_last, heard_at, burst_since, burst_count, named, merged_into, closing,
    merging, no, tenant, lane, side, key, channel
) VALUES (
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
);

-- :load_effect
SELECT
    no, tenant, id, lane, oseq, state, channel, turn, key, action, repeatability, gate_receipt, gate_wait_max,
    gate_gap, gate_unshown, doubt, doubt_wait, resends_max, on_refused, tries_max, answer_within, window, asked_at,
    about_at, attempts, tries, armed_epoch, not_before, doubt_until, accepted_at, receipt, failed, ref, reason,
    resends, unproven, gate_expired, slot_at, changed_at, ended_at
FROM procession_effect WHERE tenant = ? AND id = ?;

-- :load_effect_at
SELECT
    no, tenant, id, lane, oseq, state, channel, turn, key, action, repeatability, gate_receipt, gate_wait_max,
    gate_gap, gate_unshown, doubt, doubt_wait, resends_max, on_refused, tries_max, answer_within, window, asked_at,
    about_at, attempts, tries, armed_epoch, not_before, doubt_until, accepted_at, receipt, failed, ref, reason,
    resends, unproven, gate_expired, slot_at, changed_at, ended_at
FROM procession_effect WHERE tenant = ? AND lane = ? AND oseq = ?;

-- :save_effect
UPDATE procession_effect SET
    state = ?, attempts = ?, tries = ?, armed_epoch = ?, not_before = ?, doubt_until = ?, accepted_at = ?, receipt = ?,
    failed = ?, ref = ?, reason = ?, resends = ?, unproven = ?, gate_expired = ?, gate_unshown = ?, slot_at = ?,
    changed_at = ?, ended_at = ?
WHERE no = ?;

-- :load_outlet
SELECT tenant, channel, shown, line, held_from, held_until, held_reason
FROM procession_outlet WHERE tenant = ? AND channel = ?;

-- :save_outlet
INSERT INTO procession_outlet (tenant, channel, shown, line, held_from, held_until, held_reason)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, channel) DO UPDATE SET
    shown = excluded.shown, line = excluded.line, held_from = excluded.held_from, held_until = excluded.held_until,
    held_reason = excluded.held_reason;

-- :insert_turn
INSERT INTO procession_turn (tenant, lane, first_seq, last_seq, turn, outcome, tries, first_try_at, ended_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- :tally
INSERT INTO procession_tally (
    tenant,
    accepted, duplicates, dropped, placed, done, set_aside, replayed, skipped, lanes, asked, confirmed,
    refused, cancelled, effects_skipped, resent, gates_expired
) VALUES (
    :tenant,
    :accepted, :duplicates, :dropped, :placed, :done, :set_aside, :replayed, :skipped, :lanes, :asked,
    :confirmed, :refused, :cancelled, :effects_skipped, :resent, :gates_expired
)
ON CONFLICT (tenant) DO UPDATE SET
    accepted = accepted + excluded.accepted, duplicates = duplicates + excluded.duplicates, dropped = dropped
    + excluded.dropped, placed = placed + excluded.placed, done = done + excluded.done, set_aside = set_aside
    + excluded.set_aside, replayed = replayed + excluded.replayed, skipped = skipped + excluded.skipped, lanes
    = lanes + excluded.lanes, asked = asked + excluded.asked, confirmed = confirmed + excluded.confirmed,
    refused = refused + excluded.refused, cancelled = cancelled + excluded.cancelled, effects_skipped =
    effects_skipped + excluded.effects_skipped, resent = resent + excluded.resent, gates_expired =
    gates_expired + excluded.gates_expired;
