-- Accept: events, sightings, quarantine.
--
-- Ensures: an event is there once for each (tenant, id); the insert of a second one changes nothing and says so by touching no
-- row. Its seq is its lane's next_seq, which is raised in the same transaction only if the row was taken.
-- Indexes: UNIQUE (tenant, id) and procession_event_seq (tenant, lane, seq) are what an event costs; procession_event_held
-- (tenant, lane, order_key) serves resequencing; UNIQUE (tenant, channel, ref) the sightings.
-- Locks: none but the write transaction that the writer has begun.

-- :event
INSERT INTO procession_event (
    tenant, id, lane, seq, channel, provider_id, kind, accepted_at, placed_at, occurred_at, late, payload
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)
ON CONFLICT (tenant, id) DO NOTHING;

-- :event_whole
INSERT INTO procession_event (
    tenant, id, lane, seq, state, channel, provider_id, kind, accepted_at, placed_at, occurred_at, late, ended_at, reason,
    order_by, order_key, order_stale, order_first, held_until, quiet, wait_max, events_max, flushes, payload
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, id) DO NOTHING;

-- :known
SELECT 1 FROM procession_event WHERE tenant = ? AND id = ?;

-- :next_held
SELECT no, order_by, order_key, order_stale, order_first, quiet
FROM procession_event
WHERE tenant = ? AND lane = ? AND state = 'held' AND order_key = ?
ORDER BY no
LIMIT 1;

-- :held_up_to
-- With what is due go all that are before it in the source's order.
SELECT no, order_by, order_key, order_stale, order_first, quiet
FROM procession_event
WHERE tenant = ?1 AND lane = ?2 AND state = 'held' AND (order_key, no) <= (
    SELECT order_key, no
    FROM procession_event
    WHERE tenant = ?1 AND lane = ?2 AND state = 'held' AND held_until <= ?3
    ORDER BY order_key DESC, no DESC
    LIMIT 1
)
ORDER BY order_key, no;

-- :place_held
UPDATE procession_event SET state = NULL, seq = ?, placed_at = ?, late = ?, held_until = NULL
WHERE tenant = ? AND lane = ? AND no = ?;

-- :drop_held
UPDATE procession_event SET state = 'dropped', ended_at = ?, reason = ?, held_until = NULL
WHERE tenant = ? AND lane = ? AND no = ?;

-- :quarantine
INSERT INTO procession_quarantine (id, endpoint, at, reason, headers, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING;

-- :effect_of_ref
SELECT id FROM procession_effect WHERE tenant = ? AND channel = ? AND ref = ? ORDER BY no LIMIT 1;

-- :keep_sighting
-- Several of one reference are one row: the highest receipt, a failure if there was any, the newest detail of one.
INSERT INTO procession_sighting (tenant, channel, ref, receipt, failed, detail, at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, channel, ref) DO UPDATE SET
    receipt = max(receipt, excluded.receipt),
    failed = max(failed, excluded.failed),
    detail = CASE WHEN excluded.failed AND excluded.detail <> '' THEN excluded.detail ELSE detail END,
    at = excluded.at;

-- :take_sighting
DELETE FROM procession_sighting WHERE tenant = ? AND channel = ? AND ref = ? RETURNING receipt, failed, detail;
