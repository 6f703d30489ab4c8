-- Accept: events, sightings, quarantine.
--
-- Ensures: an event is there once for each (tenant, id); the insert of a second one changes nothing and says so by touching no
-- row. Its seq is its lane's next_seq, which is raised in the same transaction only if the row was taken.
-- Indexes: UNIQUE (tenant, id) and procession_event_seq (tenant, lane, seq) are what an event costs; procession_event_held
-- (tenant, lane, order_key) serves resequencing; UNIQUE (tenant, channel, ref) the sightings.
-- Locks: an event's lane is locked before. Whoever looks for a reference, or makes it known, holds a lock on it
-- (book.hold): else each might miss the other.

-- :event
INSERT INTO procession_event (
    tenant, id, lane, seq, channel, provider_id, kind, accepted_at, placed_at, occurred_at, late, payload
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11)
ON CONFLICT (tenant, id) DO NOTHING;

-- :events
-- Of a whole batch, in one statement.
INSERT INTO procession_event (
    tenant, id, lane, seq, channel, provider_id, kind, accepted_at, placed_at, occurred_at, late, payload
)
SELECT tenant, id, lane, seq, channel, provider_id, kind, accepted_at, placed_at, occurred_at, 0, payload
FROM unnest(
    $1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::bytea[]
) AS event (
    tenant, id, lane, seq, channel, provider_id, kind, accepted_at, placed_at, occurred_at, payload
)
ON CONFLICT (tenant, id) DO NOTHING;

-- :known_of
SELECT tenant, id FROM procession_event
WHERE (tenant, id) IN (SELECT * FROM unnest($1::bigint[], $2::text[]));

-- :event_whole
INSERT INTO procession_event (
    tenant, id, lane, seq, state, channel, provider_id, kind, accepted_at, placed_at, occurred_at, late, ended_at, reason,
    order_by, order_key, order_stale, order_first, held_until, quiet, wait_max, events_max, flushes, payload
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
ON CONFLICT (tenant, id) DO NOTHING;

-- :known
SELECT 1 FROM procession_event WHERE tenant = $1 AND id = $2;

-- :next_held
SELECT no, order_by, order_key, order_stale, order_first, quiet
FROM procession_event
WHERE tenant = $1 AND lane = $2 AND state = 'held' AND order_key = $3
ORDER BY no
LIMIT 1;

-- :held_up_to
-- With what is due go all that are before it in the source's order.
SELECT no, order_by, order_key, order_stale, order_first, quiet
FROM procession_event
WHERE tenant = $1 AND lane = $2 AND state = 'held' AND (order_key, no) <= (
    SELECT order_key, no
    FROM procession_event
    WHERE tenant = $1 AND lane = $2 AND state = 'held' AND held_until <= $3
    ORDER BY order_key DESC, no DESC
    LIMIT 1
)
ORDER BY order_key, no;

-- :place_held
UPDATE procession_event SET state = NULL, seq = $1, placed_at = $2, late = $3, held_until = NULL
WHERE tenant = $4 AND lane = $5 AND no = $6;

-- :drop_held
UPDATE procession_event SET state = 'dropped', ended_at = $1, reason = $2, held_until = NULL
WHERE tenant = $3 AND lane = $4 AND no = $5;

-- :quarantine
INSERT INTO procession_quarantine (id, endpoint, at, reason, headers, body) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO NOTHING;

-- :effect_of_ref
SELECT id FROM procession_effect WHERE tenant = $1 AND channel = $2 AND ref = $3 ORDER BY no LIMIT 1;

-- :keep_sighting
-- Several of one reference are one row: the highest receipt, a failure if there was any, the newest detail of one.
INSERT INTO procession_sighting AS own (tenant, channel, ref, receipt, failed, detail, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant, channel, ref) DO UPDATE SET
    receipt = greatest(own.receipt, excluded.receipt),
    failed = greatest(own.failed, excluded.failed),
    detail = CASE WHEN excluded.failed > 0 AND excluded.detail <> '' THEN excluded.detail ELSE own.detail END,
    at = excluded.at;

-- :take_sighting
DELETE FROM procession_sighting WHERE tenant = $1 AND channel = $2 AND ref = $3 RETURNING receipt, failed, detail;
