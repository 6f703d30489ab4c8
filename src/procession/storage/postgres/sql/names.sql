-- Names: which lane an event, or an effect, belongs to.
--
-- Ensures: a name leads to one lane; the write of a name and of what it has led there are one transaction.
-- Indexes: the key of procession_name (tenant, channel, name); procession_name_lane (tenant, lane, newest);
-- procession_name_retired (retired_at).
-- Locks: the name that is written. It is written only over what was read (lead), else the batch begins anew.

-- :load
SELECT lane, retired_at FROM procession_name WHERE tenant = $1 AND channel = $2 AND name = $3;

-- :lead
INSERT INTO procession_name AS own (tenant, channel, name, lane, newest, retired_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant, channel, name) DO UPDATE SET
    lane = excluded.lane, newest = excluded.newest, retired_at = excluded.retired_at
WHERE own.lane = $7;

-- :of_lane
-- Those that lead there now, the newest first.
SELECT name FROM procession_name WHERE tenant = $1 AND lane = $2 AND retired_at IS NULL ORDER BY newest DESC;

-- :move
UPDATE procession_name SET lane = $1 WHERE tenant = $2 AND lane = $3;

-- :forget_retired
DELETE FROM procession_name WHERE (tenant, channel, name) IN (
    SELECT tenant, channel, name FROM procession_name
    WHERE retired_at IS NOT NULL AND retired_at <= $1 ORDER BY retired_at LIMIT $2
    FOR UPDATE SKIP LOCKED
);
