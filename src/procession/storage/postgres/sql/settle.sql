-- Settle and remember: what a turn leaves behind.
--
-- Ensures: steps and effects are there once for each key; the first content stays. The cursor, and with it what becomes of the
-- turn's events, is in the lane's own row (book.sql, save_lane), in the same transaction.
-- Indexes: UNIQUE (tenant, turn, name, occurrence) of steps; UNIQUE (tenant, id) of effects; procession_event_seq.
-- Locks: the lanes are locked before.

-- :step
INSERT INTO procession_step (tenant, turn, name, occurrence, value) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, turn, name, occurrence) DO NOTHING;

-- :forget_steps
DELETE FROM procession_step WHERE tenant = $1 AND turn = $2;

-- :state
INSERT INTO procession_state (lane, tenant, state) VALUES ($1, $2, $3)
ON CONFLICT (tenant, lane) DO UPDATE SET state = excluded.state;

-- :effect
INSERT INTO procession_effect (
    tenant, id, lane, oseq, state, channel, turn, key, action,
    repeatability, gate_receipt, gate_wait_max, gate_gap, gate_unshown, doubt, doubt_wait, resends_max, on_refused,
    tries_max, answer_within, "window", asked_at, about_at, attempts, tries, receipt, failed, reason, resends, unproven,
    gate_expired, changed_at, payload
) VALUES (
    $1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, 0, 0, 0, 0, '', 0, 0, 0, $23, $24
)
ON CONFLICT (tenant, id) DO NOTHING;

-- :effect_known
SELECT 1 FROM procession_effect WHERE tenant = $1 AND id = $2;

-- :events_ended
-- Only what did not end as done is written on its row.
UPDATE procession_event SET state = $1, ended_at = $2, reason = $3, turn = $4
WHERE tenant = $5 AND lane = $6 AND seq BETWEEN $7 AND $8;

-- :replay_done
UPDATE procession_event SET state = NULL, ended_at = NULL, reason = NULL, turn = NULL
WHERE tenant = $1 AND lane = $2 AND seq = $3;

-- :try
INSERT INTO procession_try (tenant, turn, number, at, how, reason) VALUES ($1, $2, $3, $4, $5, $6);

-- :reminder
INSERT INTO procession_reminder AS own (tenant, lane, name, generation, due_at, asked, payload) VALUES ($1, $2, $3, 1, $4, $5, $6)
ON CONFLICT (tenant, lane, name) DO UPDATE SET
    generation = own.generation + 1, due_at = excluded.due_at, asked = excluded.asked, payload = excluded.payload;

-- :reminder_off
UPDATE procession_reminder SET due_at = NULL, payload = ''::bytea WHERE tenant = $1 AND lane = $2 AND name = $3;
