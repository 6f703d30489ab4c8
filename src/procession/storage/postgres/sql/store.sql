-- The store as a whole: what each batch reads first, and writes last.
--
-- Ensures: the store's clock does not go backwards: a batch begins at the newest instant that was written down, or later, and
-- writes its own down before its commit. A sequence keeps it, since a row would make all commits wait for one another; it is
-- as durable as the commit that follows. Two batches at once may write theirs in the other order, which is seen only
-- if the machine's clock is set back in that very moment.
-- Indexes: none; one row, and two sequences.
-- Locks: none.

-- :begin
SELECT store.era, store.sending_paused, (SELECT version FROM procession_directory), greatest(
    clock.last_value, coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
)
FROM procession_store AS store, procession_clock AS clock;

-- :tick
SELECT setval('procession_clock', $1::bigint) FROM procession_clock WHERE last_value < $1::bigint;

-- :steps
-- From here on a transaction counts by itself: places among the ready, and numbers of lanes, reminders and names.
SELECT nextval('procession_steps');

-- :transaction
SELECT pg_current_xact_id_if_assigned()::text;

-- :outcome
SELECT pg_xact_status($1::text::xid8);

-- :wait_a_moment
SELECT pg_sleep(0.05);

-- :settings
SELECT
    current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
    current_setting('server_version_num')::bigint, current_setting('server_encoding'), pg_is_in_recovery();

-- :place
-- Which cluster this is, and which life of it: a promoted standby goes on under another timeline.
SELECT (SELECT system_identifier::text FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8);

-- :schema
SELECT to_regclass('procession_store') IS NOT NULL;

-- :load
SELECT uuid, schema, era, cluster, timeline FROM procession_store;

-- :found
INSERT INTO procession_store (one, uuid, schema, cluster, timeline) VALUES (1, $1, $2, $3, $4)
ON CONFLICT (one) DO NOTHING;

-- :advance
UPDATE procession_store SET schema = $1;

-- :move_in
UPDATE procession_store SET cluster = $1, timeline = $2;

-- :migrating
-- One process at a time brings the schema forward.
SELECT pg_advisory_xact_lock(hashtextextended('procession schema', 7));

-- :others
SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'procession%' AND pid <> pg_backend_pid();
