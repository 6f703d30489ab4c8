-- Claim: ready lanes with their heads.
--
-- Ensures: nothing by itself; the lanes that these find are written by save_lane under the epoch that was read.
-- Indexes: procession_lane_ready (tenant, side, ready_pos), procession_lane_suspect (tenant, deaths DESC, ready_pos): what is
-- not ready is in neither, so a claim costs what it takes, whatever waits (C6). procession_event_seq finds the head event.
-- Locks: the lanes that are taken, and of tenants with a bound their rows; what another has locked is passed over.

-- :ready_turns
SELECT ready.*
FROM unnest($1::bigint[], $2::bigint[]) AS whose (tenant, lanes)
CROSS JOIN LATERAL (
    SELECT
        lane.*,
        event.id, event.seq, event.channel, event.provider_id, event.kind, event.accepted_at, event.occurred_at, event.late,
        event.payload, event.events_max
    FROM procession_lane AS lane
    LEFT JOIN procession_event AS event
        ON event.tenant = lane.tenant AND event.lane = lane.no AND event.seq = lane.cursor + 1
    WHERE lane.tenant = whose.tenant AND lane.side = 'turns' AND lane.phase = 'ready' AND lane.deaths = 0
    ORDER BY lane.ready_pos
    LIMIT whose.lanes
    FOR UPDATE OF lane SKIP LOCKED
) AS ready;

-- :suspect_turns
SELECT ready.*
FROM unnest($1::bigint[], $2::bigint[]) AS whose (tenant, lanes)
CROSS JOIN LATERAL (
    SELECT
        lane.*,
        event.id, event.seq, event.channel, event.provider_id, event.kind, event.accepted_at, event.occurred_at, event.late,
        event.payload, event.events_max
    FROM procession_lane AS lane
    LEFT JOIN procession_event AS event
        ON event.tenant = lane.tenant AND event.lane = lane.no AND event.seq = lane.cursor + 1
    WHERE lane.tenant = whose.tenant AND lane.phase = 'ready' AND lane.deaths > 0
    ORDER BY lane.deaths DESC, lane.ready_pos
    LIMIT whose.lanes
    FOR UPDATE OF lane SKIP LOCKED
) AS ready;

-- :most_deaths
SELECT deaths FROM procession_lane WHERE tenant = $1 AND phase = 'ready' AND deaths > 0 ORDER BY deaths DESC LIMIT 1;

-- :ready_sends
SELECT ready.*
FROM unnest($1::bigint[], $2::bigint[]) AS whose (tenant, lanes)
CROSS JOIN LATERAL (
    SELECT lane.*
    FROM procession_lane AS lane
    WHERE lane.tenant = whose.tenant AND lane.side = 'sends' AND lane.phase = 'ready' AND lane.deaths = 0
    ORDER BY lane.ready_pos
    LIMIT whose.lanes
    FOR UPDATE OF lane SKIP LOCKED
) AS ready;

-- :events
SELECT id, seq, channel, provider_id, kind, accepted_at, occurred_at, late, payload, events_max
FROM procession_event
WHERE tenant = $1 AND lane = $2 AND seq BETWEEN $3 AND $4
ORDER BY seq;

-- :window_run
-- How far a turn that is claimed for the first time may reach; the caller stops at the first without a window.
SELECT seq, quiet FROM procession_event WHERE tenant = $1 AND lane = $2 AND seq > $3 ORDER BY seq LIMIT $4;

-- :next_replay
SELECT seq FROM procession_event
WHERE tenant = $1 AND lane = $2 AND state = 'replaying'
ORDER BY seq
LIMIT 1;

-- :first_try_at
-- Of a turn that ended once already: a replay is one more try of it. Its tries stay as long as its events do; the row of
-- the turn itself may be pruned before.
SELECT min(at) FROM procession_try WHERE tenant = $1 AND turn = $2;

-- :steps
SELECT name, occurrence, value FROM procession_step WHERE tenant = $1 AND turn = $2 ORDER BY name, occurrence;

-- :state
SELECT state FROM procession_state WHERE tenant = $1 AND lane = $2;

-- :payload
SELECT payload FROM procession_effect WHERE tenant = $1 AND lane = $2 AND oseq = $3;

-- :who_has_ready_turns
-- From one tenant to the next by the index, and of each no more than are asked for: what this costs grows with the tenants
-- that have something ready, and not with what they have.
WITH RECURSIVE tenants AS (
    (
        SELECT tenant FROM procession_lane
        WHERE phase = 'ready' AND deaths = 0 AND side = 'turns'
        ORDER BY tenant LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT lane.tenant FROM procession_lane AS lane
        WHERE lane.phase = 'ready' AND lane.deaths = 0 AND lane.side = 'turns' AND lane.tenant > tenants.tenant
        ORDER BY lane.tenant LIMIT 1
    )
    FROM tenants WHERE tenants.tenant IS NOT NULL
)
SELECT tenants.tenant, (
    SELECT count(*) FROM (
        SELECT 1 FROM procession_lane AS lane
        WHERE lane.phase = 'ready' AND lane.deaths = 0 AND lane.side = 'turns' AND lane.tenant = tenants.tenant
        LIMIT $1
    ) AS few
)
FROM tenants WHERE tenants.tenant IS NOT NULL;

-- :who_has_ready_sends
WITH RECURSIVE tenants AS (
    (
        SELECT tenant FROM procession_lane
        WHERE phase = 'ready' AND deaths = 0 AND side = 'sends'
        ORDER BY tenant LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT lane.tenant FROM procession_lane AS lane
        WHERE lane.phase = 'ready' AND lane.deaths = 0 AND lane.side = 'sends' AND lane.tenant > tenants.tenant
        ORDER BY lane.tenant LIMIT 1
    )
    FROM tenants WHERE tenants.tenant IS NOT NULL
)
SELECT tenants.tenant, (
    SELECT count(*) FROM (
        SELECT 1 FROM procession_lane AS lane
        WHERE lane.phase = 'ready' AND lane.deaths = 0 AND lane.side = 'sends' AND lane.tenant = tenants.tenant
        LIMIT $1
    ) AS few
)
FROM tenants WHERE tenants.tenant IS NOT NULL;

-- :who_has_suspects
SELECT tenant, count(*) FROM procession_lane WHERE phase = 'ready' AND deaths > 0 GROUP BY tenant;

-- :hold_shares
-- Whoever claims for a tenant with a bound is the only one who does, until he has committed: else two would each see room for
-- the last lane.
SELECT no FROM procession_tenant WHERE no = ANY ($1::bigint[]) ORDER BY no FOR NO KEY UPDATE SKIP LOCKED;

-- :held_lanes
SELECT tenant, count(*) FROM procession_lane
WHERE tenant = ANY ($1::bigint[]) AND phase = 'held' AND side = 'turns'
GROUP BY tenant;
