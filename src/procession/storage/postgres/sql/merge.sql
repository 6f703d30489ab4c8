-- Merge: what waits in one lane moves behind what waits in another.
--
-- Ensures: rows move as a run, in their own order, to places that nobody has; the next place of both lanes is in their own rows
-- (book.sql, save_lane), in the same transaction.
-- Indexes: procession_event_seq (tenant, lane, seq), procession_event_held and procession_event_replaying; UNIQUE (tenant,
-- lane, oseq) of effects; the key of procession_reminder; procession_lane_closing (tenant, merged_into).
-- Locks: both lanes are locked before.

-- :move_events
UPDATE procession_event SET lane = :heir, seq = seq + :by WHERE tenant = :tenant AND lane = :lane AND seq > :stays;

-- :move_held
UPDATE procession_event SET lane = :heir WHERE tenant = :tenant AND lane = :lane AND state = 'held';

-- :replaying
SELECT no FROM procession_event
WHERE tenant = :tenant AND lane = :lane AND state = 'replaying' AND seq IS DISTINCT FROM :open::bigint
ORDER BY seq;

-- :move_replay
-- Alone: as a part of another turn it would not find what its own has flushed.
UPDATE procession_event SET
    lane = $1, seq = $2, state = NULL, placed_at = $3, late = 1, ended_at = NULL, reason = NULL, turn = NULL,
    quiet = NULL, wait_max = NULL, events_max = NULL, flushes = NULL
WHERE tenant = $4 AND lane = $5 AND no = $6;

-- :move_effects
UPDATE procession_effect SET lane = :heir, oseq = oseq + :by WHERE tenant = :tenant AND lane = :lane AND oseq > :stays;

-- :reminders
SELECT name, due_at, asked, payload FROM procession_reminder WHERE tenant = $1 AND lane = $2 AND due_at IS NOT NULL;

-- :inherit_reminder
-- The one of the same name that the lane has itself stays.
INSERT INTO procession_reminder AS own (tenant, lane, name, generation, due_at, asked, payload) VALUES ($1, $2, $3, 1, $4, $5, $6)
ON CONFLICT (tenant, lane, name) DO UPDATE SET
    generation = own.generation + 1, due_at = excluded.due_at, asked = excluded.asked, payload = excluded.payload
WHERE own.due_at IS NULL;

-- :closing
SELECT lane.* FROM procession_lane AS lane
WHERE lane.tenant = $1 AND lane.merged_into = $2 AND lane.closing = 1
ORDER BY lane.no;

-- :event
INSERT INTO procession_event (
    tenant, id, lane, seq, channel, provider_id, kind, accepted_at, placed_at, late, payload
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10);

-- :take_state
DELETE FROM procession_state WHERE tenant = $1 AND lane = $2 RETURNING state;
