-- Sealed secrets and wrapped data keys. No plain byte is ever in a statement.
--
-- Ensures: a data key's version is given once; a secret is replaced as a whole, with an audit row that names it.
-- Indexes: the primary keys (tenant, name) and (tenant, version).
-- Locks: none but the write transaction that the writer has begun.

-- :secret
SELECT key_version, box, fingerprint FROM procession_secret WHERE tenant = ? AND name = ?;

-- :put
INSERT INTO procession_secret (tenant, name, key_version, box, fingerprint) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant, name) DO UPDATE SET
    key_version = excluded.key_version, box = excluded.box, fingerprint = excluded.fingerprint;

-- :remove
DELETE FROM procession_secret WHERE tenant = ? AND name = ?;

-- :names
SELECT name, fingerprint FROM procession_secret WHERE tenant = ? ORDER BY name;

-- :keys
SELECT version, box FROM procession_data_key WHERE tenant = ? ORDER BY version;

-- :add_key
INSERT INTO procession_data_key (tenant, version, box) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;
