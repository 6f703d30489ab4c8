-- Sealed secrets and wrapped data keys. No plain byte is ever in a statement.
--
-- Ensures: a data key's version is given once; a secret is stored only under the newest one, counted on it before (`count`
-- and `put` or `replace` run in one transaction); a key goes only when nothing is sealed under it.
-- Indexes: the primary keys (tenant, name) and (tenant, version); `forget_opens` procession_audit_opened. `behind` and
-- `remove_key` look through the secrets of one tenant.
-- Locks: a write holds a lock on its tenant's secrets (book.hold), so that of two the second sees the first.

-- :find
SELECT secret.key_version, secret.box, secret.fingerprint, key.version, key.box, key.seals
FROM procession_secret AS secret
LEFT JOIN procession_data_key AS key ON key.tenant = secret.tenant AND key.version = secret.key_version
WHERE secret.tenant = $1 AND secret.name = $2;

-- :count
UPDATE procession_data_key SET seals = seals + 1
WHERE tenant = :tenant AND version = :version AND seals < :seals_max
    AND version = (SELECT max(version) FROM procession_data_key WHERE tenant = :tenant);

-- :put
INSERT INTO procession_secret (tenant, name, key_version, box, fingerprint) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, name) DO UPDATE SET
    key_version = excluded.key_version, box = excluded.box, fingerprint = excluded.fingerprint;

-- :is_there
SELECT 1 FROM procession_secret WHERE tenant = $1 AND name = $2 AND key_version = $3 AND box = $4;

-- :remove
DELETE FROM procession_secret WHERE tenant = $1 AND name = $2;

-- :names
SELECT name, fingerprint FROM procession_secret WHERE tenant = $1 ORDER BY name;

-- :behind
SELECT name FROM procession_secret
WHERE tenant = :tenant AND key_version < (SELECT max(version) FROM procession_data_key WHERE tenant = :tenant)
ORDER BY name;

-- :keys
SELECT version, box, seals FROM procession_data_key WHERE tenant = $1 ORDER BY version;

-- :all_keys
SELECT tenant, version, box, seals FROM procession_data_key ORDER BY tenant, version;

-- :add_key
INSERT INTO procession_data_key (tenant, version, box)
SELECT :tenant::text, :version::bigint, :box::bytea
WHERE NOT EXISTS (SELECT 1 FROM procession_data_key WHERE tenant = :tenant AND version >= :version);

-- :rewrap
UPDATE procession_data_key SET box = :after WHERE tenant = :tenant AND version = :version AND box = :before;

-- :remove_key
DELETE FROM procession_data_key
WHERE tenant = :tenant AND version = :version
    AND version < (SELECT max(version) FROM procession_data_key WHERE tenant = :tenant)
    AND NOT EXISTS (SELECT 1 FROM procession_secret WHERE tenant = :tenant AND key_version = :version);

-- :forget_opens
-- Two for each that is written: so the backlog of a pause shrinks, and no write is a long one.
DELETE FROM procession_audit
WHERE no IN (
    SELECT no FROM procession_audit WHERE verb = 'secret open' AND at < $1 ORDER BY at LIMIT 2 FOR UPDATE SKIP LOCKED
);
