-- The store as a whole: what is read when a file is opened, and what each commit writes.
--
-- Indexes: rebuilding the counts scans the partial indexes of ready and held lanes, of reminders that are due some day, and names.
-- Locks: none but the write transaction that the writer has begun.

-- :load
SELECT uuid, era, sending_paused, clock, batch FROM procession_store WHERE one = 1;

-- :found
INSERT INTO procession_store (one, uuid, clock) VALUES (1, ?, ?);

-- :commit
UPDATE procession_store SET clock = ?, batch = batch + 1 WHERE one = 1;

-- :batch
SELECT batch FROM procession_store WHERE one = 1;

-- :flags
SELECT era, sending_paused FROM procession_store WHERE one = 1;

-- :free_leases
-- The lock on the data folder proves that whoever held these is dead: the first sweep treats them as run out.
UPDATE procession_lane SET lease_until = 0 WHERE phase = 'held' AND lease_until > 0;

-- :ready
SELECT tenant, side, count(*) FROM procession_lane WHERE phase = 'ready' AND deaths = 0 GROUP BY tenant, side;

-- :suspects
SELECT tenant, count(*) FROM procession_lane WHERE phase = 'ready' AND deaths > 0 GROUP BY tenant;

-- :held
SELECT tenant, side, count(*) FROM procession_lane WHERE phase = 'held' GROUP BY tenant, side;

-- :last_lane
SELECT coalesce(max(no), 0) FROM procession_lane;

-- :last_asked
-- Of those that are due some day: behind these, and in their order, stands what is asked for next.
SELECT coalesce(max(asked), 0) FROM procession_reminder WHERE due_at IS NOT NULL;

-- :last_ready_pos
SELECT coalesce(max(ready_pos), 0) FROM procession_lane WHERE phase = 'ready';

-- :columns
SELECT cid, name FROM pragma_table_info(?) ORDER BY cid;
