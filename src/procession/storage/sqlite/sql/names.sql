-- Names: which lane an event, or an effect, belongs to.
--
-- Ensures: a name leads to one lane; the write of a name and of what it has led there are one transaction.
-- Indexes: the key of procession_name (tenant, channel, name); procession_name_lane (tenant, lane, newest);
-- procession_name_retired (retired_at).
-- Locks: none but the write transaction that the writer has begun.

-- :load
SELECT lane, retired_at FROM procession_name WHERE tenant = ? AND channel = ? AND name = ?;

-- :lead
INSERT INTO procession_name (tenant, channel, name, lane, newest, retired_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, channel, name) DO UPDATE SET
    lane = excluded.lane, newest = excluded.newest, retired_at = excluded.retired_at;

-- :of_lane
-- Those that lead there now, the newest first.
SELECT name FROM procession_name WHERE tenant = ? AND lane = ? AND retired_at IS NULL ORDER BY newest DESC;

-- :move
UPDATE procession_name SET lane = ? WHERE tenant = ? AND lane = ?;

-- :last
SELECT coalesce(max(newest), 0) FROM procession_name;

-- :forget_retired
DELETE FROM procession_name WHERE (tenant, channel, name) IN (
    SELECT tenant, channel, name FROM procession_name
    WHERE retired_at IS NOT NULL AND retired_at <= ? ORDER BY retired_at LIMIT ?
);
