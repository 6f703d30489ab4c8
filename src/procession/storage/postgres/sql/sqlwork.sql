-- A turn's own SQL: what is looked at before and after it.
--
-- Ensures: what a handler's statements did to the store's own tables, or to how this transaction is kept, shows: rows written,
-- locks that only a change of a table takes, settings that a commit or a name depends on.
-- Indexes: none; the views are of this transaction alone, and of this process's locks.
-- Locks: none.

-- :seen
SELECT
    (
        SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_xact_all_tables
        WHERE relname LIKE 'procession\_%'
    ),
    (
        SELECT count(*) FROM pg_locks
        WHERE locktype = 'relation' AND pid = pg_backend_pid() AND relation = ANY ($1::bigint[]::oid[])
            AND mode IN ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                'AccessExclusiveLock')
    ),
    current_setting('synchronous_commit'), current_setting('search_path'), current_user::text,
    (SELECT count(*) FROM pg_class WHERE oid = ANY ($1::bigint[]::oid[]));

-- :own_tables
SELECT oid::bigint FROM pg_class WHERE relname LIKE 'procession\_%' AND relkind IN ('r', 'p', 'S', 'i');

-- :limit
SELECT set_config('statement_timeout', $1::text, true);
