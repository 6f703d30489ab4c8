-- What decides where a lane rests, beyond its own row.
--
-- Indexes: procession_event_seq (tenant, lane, seq); procession_effect_open (tenant, lane, oseq).
-- Locks: the lane is locked before.

-- :windows
-- The events at the head, in order; the caller stops at the first without a window, and at the head's own bound.
SELECT placed_at, quiet, wait_max, events_max, flushes
FROM procession_event
WHERE tenant = $1 AND lane = $2 AND seq > $3
ORDER BY seq;

-- :pending_behind
SELECT oseq
FROM procession_effect
WHERE tenant = $1 AND lane = $2 AND oseq > $3 AND state = 'pending' AND ended_at IS NULL
ORDER BY oseq;
