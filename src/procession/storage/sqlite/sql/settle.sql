-- Settle and remember: what a turn leaves behind.
--
-- Ensures: steps and effects are there once for each key; the first content stays. The cursor, and with it what becomes of the
-- turn's events, is in the lane's own row (book.sql, save_lane), in the same transaction.
-- Indexes: UNIQUE (tenant, turn, name, occurrence) of steps; UNIQUE (tenant, id) of effects; procession_event_seq.
-- Locks: none but the write transaction that the writer has begun.

-- :step
INSERT INTO procession_step (tenant, turn, name, occurrence, value) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant, turn, name, occurrence) DO NOTHING;

-- :forget_steps
DELETE FROM procession_step WHERE tenant = ? AND turn = ?;

-- :state
INSERT INTO procession_state (lane, tenant, state) VALUES (?, ?, ?)
ON CONFLICT (lane) DO UPDATE SET state = excluded.state;

-- :effect
INSERT INTO procession_effect (
    tenant, id, lane, oseq, state, channel, turn, key, action,
    repeatability, gate_receipt, gate_wait_max, gate_gap, gate_unshown, doubt, doubt_wait, resends_max, on_refused,
    tries_max, answer_within, window, asked_at, about_at, attempts, tries, receipt, failed, reason, resends, unproven,
    gate_expired, changed_at, payload
) VALUES (
    ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, '', 0, 0, 0, ?, ?
)
ON CONFLICT (tenant, id) DO NOTHING;

-- :effect_known
SELECT 1 FROM procession_effect WHERE tenant = ? AND id = ?;

-- :events_ended
-- Only what did not end as done is written on its row.
UPDATE procession_event SET state = ?, ended_at = ?, reason = ?, turn = ?
WHERE tenant = ? AND lane = ? AND seq BETWEEN ? AND ?;

-- :replay_done
UPDATE procession_event SET state = NULL, ended_at = NULL, reason = NULL, turn = NULL
WHERE tenant = ? AND lane = ? AND seq = ?;

-- :try
INSERT INTO procession_try (tenant, turn, number, at, how, reason) VALUES (?, ?, ?, ?, ?, ?);

-- :reminder
INSERT INTO procession_reminder (tenant, lane, name, generation, due_at, asked, payload) VALUES (?, ?, ?, 1, ?, ?, ?)
ON CONFLICT (tenant, lane, name) DO UPDATE SET
    generation = generation + 1, due_at = excluded.due_at, asked = excluded.asked, payload = excluded.payload;

-- :reminder_off
UPDATE procession_reminder SET due_at = NULL, payload = x'' WHERE tenant = ? AND lane = ? AND name = ?;
