-- Prune: what ended long ago.
--
-- Ensures: an event that is set aside, or waits once more, stays, with its tries and steps, whatever became of its turn.
-- Indexes: procession_turn_ended (ended_at, no), so the scan starts at the oldest and stops at the horizon; procession_event_over (ended_at), procession_effect_ended (ended_at), procession_sighting_at (at).
-- Locks: what is deleted; what another prunes is passed over.

-- :turns_ended
SELECT no, tenant, lane, first_seq, last_seq, turn, ended_at FROM procession_turn
ORDER BY ended_at, no
LIMIT $1
FOR UPDATE SKIP LOCKED;

-- :forget_turn
DELETE FROM procession_turn WHERE tenant = $1 AND no = $2;

-- :forget_events
-- One that was set aside and replayed since has a younger turn, and goes with that.
DELETE FROM procession_event
WHERE tenant = $1 AND lane = $2 AND seq BETWEEN $3 AND $4 AND state IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM procession_turn AS other
        WHERE other.tenant = $1 AND other.lane = $2 AND other.first_seq BETWEEN $3 AND $4
    );

-- :forget_tries
-- Not of one that was replayed in another lane, since its own was merged: there it may wait still.
DELETE FROM procession_try
WHERE tenant = $1 AND turn = $2
    AND NOT EXISTS (SELECT 1 FROM procession_event WHERE tenant = $1 AND lane = $3 AND seq BETWEEN $4 AND $5)
    AND NOT EXISTS (SELECT 1 FROM procession_event WHERE tenant = $1 AND id = $2);

-- :forget_steps
DELETE FROM procession_step
WHERE tenant = $1 AND turn = $2
    AND NOT EXISTS (SELECT 1 FROM procession_event WHERE tenant = $1 AND lane = $3 AND seq BETWEEN $4 AND $5)
    AND NOT EXISTS (SELECT 1 FROM procession_event WHERE tenant = $1 AND id = $2);

-- :forget_over
DELETE FROM procession_event WHERE (tenant, id) IN (
    SELECT tenant, id FROM procession_event
    WHERE state IN ('dropped', 'skipped') AND ended_at <= $1
    ORDER BY ended_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
);

-- :forget_effects
DELETE FROM procession_effect WHERE (tenant, id) IN (
    SELECT effect.tenant, effect.id FROM procession_effect AS effect
    JOIN procession_lane AS lane ON lane.tenant = effect.tenant AND lane.no = effect.lane
    WHERE effect.ended_at IS NOT NULL AND effect.ended_at <= $1 AND effect.changed_at <= $2 AND lane.cursor >= effect.oseq
        -- A turn that may be tried once more finds what it has flushed, and does not send it again.
        AND NOT EXISTS (
            SELECT 1 FROM procession_event AS event WHERE event.tenant = effect.tenant AND event.id = effect.turn
        )
    ORDER BY effect.ended_at
    LIMIT $3
    FOR UPDATE OF effect SKIP LOCKED
);

-- :forget_sightings
DELETE FROM procession_sighting WHERE (tenant, channel, ref) IN (
    SELECT tenant, channel, ref FROM procession_sighting
    WHERE at <= $1
    ORDER BY at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
);
