-- Prune: what ended long ago.
--
-- Ensures: an event that is set aside, or waits once more, stays, with its tries and steps, whatever became of its turn.
-- Indexes: procession_turn is in the order of its turns' ends, so the scan starts at the oldest and stops at the horizon;
-- procession_event_over (ended_at), procession_effect_ended (ended_at), procession_sighting_at (at).
-- Locks: none but the write transaction that the writer has begun.

-- :turns_ended
SELECT no, tenant, lane, first_seq, last_seq, turn, ended_at FROM procession_turn ORDER BY no LIMIT ?;

-- :forget_turn
DELETE FROM procession_turn WHERE tenant = ? AND no = ?;

-- :forget_events
-- One that was set aside and replayed since has a younger turn, and goes with that.
DELETE FROM procession_event
WHERE tenant = ?1 AND lane = ?2 AND seq BETWEEN ?3 AND ?4 AND state IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM procession_turn AS other
        WHERE other.tenant = ?1 AND other.lane = ?2 AND other.first_seq BETWEEN ?3 AND ?4
    );

-- :forget_tries
-- Not of one that was replayed in another lane, since its own was merged: there it may wait still.
DELETE FROM procession_try
WHERE tenant = ?1 AND turn = ?2
    AND NOT EXISTS (SELECT 1 FROM procession_event WHERE tenant = ?1 AND lane = ?3 AND seq BETWEEN ?4 AND ?5)
    AND NOT EXISTS (SELECT 1 FROM procession_event WHERE tenant = ?1 AND id = ?2);

-- :forget_steps
DELETE FROM procession_step
WHERE tenant = ?1 AND turn = ?2
    AND NOT EXISTS (SELECT 1 FROM procession_event WHERE tenant = ?1 AND lane = ?3 AND seq BETWEEN ?4 AND ?5)
    AND NOT EXISTS (SELECT 1 FROM procession_event WHERE tenant = ?1 AND id = ?2);

-- :forget_over
DELETE FROM procession_event WHERE no IN (
    SELECT no FROM procession_event WHERE state IN ('dropped', 'skipped') AND ended_at <= ? ORDER BY ended_at LIMIT ?
);

-- :forget_effects
DELETE FROM procession_effect WHERE no IN (
    SELECT effect.no FROM procession_effect AS effect
    JOIN procession_lane AS lane ON lane.no = effect.lane
    WHERE effect.ended_at IS NOT NULL AND effect.ended_at <= ? AND effect.changed_at <= ? AND lane.cursor >= effect.oseq
        -- A turn that may be tried once more finds what it has flushed, and does not send it again.
        AND NOT EXISTS (
            SELECT 1 FROM procession_event AS event WHERE event.tenant = effect.tenant AND event.id = effect.turn
        )
    ORDER BY effect.ended_at
    LIMIT ?
);

-- :forget_sightings
DELETE FROM procession_sighting WHERE no IN (
    SELECT no FROM procession_sighting WHERE at <= ? ORDER BY at LIMIT ?
);
