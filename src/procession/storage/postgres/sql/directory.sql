-- Tenants, endpoints, channels: read and written as a whole.
--
-- Ensures: the documents and the tenants' rows change in one transaction, with their audit rows.
-- Indexes: none is needed but the keys; `busy` scans the lanes that are not at rest.
-- Locks: a change holds a lock of its own (book.hold), so that of two the second sees the first.

-- :load
SELECT version, endpoints, channels, collects FROM procession_directory WHERE one = 1;

-- :version
SELECT version FROM procession_directory WHERE one = 1;

-- :tenants
SELECT tenant, weight, lanes_max, pool, active FROM procession_tenant WHERE listed = 1 ORDER BY tenant;

-- :save
INSERT INTO procession_directory (one, version, endpoints, channels, collects) VALUES (1, $1, $2, $3, $4)
ON CONFLICT (one) DO UPDATE SET
    version = excluded.version, endpoints = excluded.endpoints, channels = excluded.channels, collects = excluded.collects;

-- :unlist
-- A tenant that is left out is not active any more; its row stays, since everything of it is keyed by it.
UPDATE procession_tenant SET listed = 0, active = 0 WHERE listed = 1;

-- :list
INSERT INTO procession_tenant (tenant, weight, lanes_max, pool, active, listed) VALUES ($1, $2, $3, $4, $5, 1)
ON CONFLICT (tenant) DO UPDATE SET
    weight = excluded.weight, lanes_max = excluded.lanes_max, pool = excluded.pool, active = excluded.active, listed = 1;

-- :busy
SELECT DISTINCT tenant.tenant, lane.channel
FROM procession_lane AS lane JOIN procession_tenant AS tenant ON tenant.no = lane.tenant
WHERE lane.phase <> 'idle'
UNION
SELECT DISTINCT tenant.tenant, event.channel
FROM procession_event AS event JOIN procession_tenant AS tenant ON tenant.no = event.tenant
WHERE event.state = 'held'
UNION
SELECT DISTINCT tenant.tenant, effect.channel
FROM procession_effect AS effect JOIN procession_tenant AS tenant ON tenant.no = effect.tenant
WHERE effect.ended_at IS NULL;

-- :audit
INSERT INTO procession_audit (at, actor, tenant, verb, about, detail) VALUES ($1, $2, $3, $4, $5, $6);
