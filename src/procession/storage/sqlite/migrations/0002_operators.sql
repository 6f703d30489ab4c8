-- Who there is, what is sealed, and two ways for operators to find what stands still.
--
-- Settings are JSON documents: they are read whole, compared whole, and never searched.

CREATE TABLE procession_directory (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL,
    endpoints TEXT NOT NULL,                    -- JSON: ports.directory.Endpoint, …
    channels TEXT NOT NULL,                     -- JSON: ports.directory.Channel, …
    collects TEXT NOT NULL                      -- JSON: ports.directory.CollectRule, …
) STRICT;

CREATE TABLE procession_secret (                -- of the platform: tenant ''
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    key_version INTEGER NOT NULL,
    box BLOB NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE procession_data_key (
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    box BLOB NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX procession_lane_paused ON procession_lane (tenant) WHERE paused = 1;
CREATE INDEX procession_lane_parked ON procession_lane (tenant) WHERE parked IS NOT NULL;
