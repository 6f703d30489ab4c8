-- Claim: ready lanes with their heads.
--
-- Ensures: nothing by itself; the lanes that these find are written by save_lane under the epoch that was read.
-- Indexes: procession_lane_ready (tenant, side, ready_pos), procession_lane_suspect (tenant, deaths DESC, ready_pos): what is
-- not ready is in neither, so a claim costs what it takes, whatever waits (C6). procession_event_seq finds the head event.
-- Locks: none but the write transaction that the writer has begun.

-- :ready_turns
SELECT
    lane.*,
    event.id, event.seq, event.channel, event.provider_id, event.kind, event.accepted_at, event.occurred_at, event.late,
    event.payload, event.events_max
FROM procession_lane AS lane
LEFT JOIN procession_event AS event
    ON event.tenant = lane.tenant AND event.lane = lane.no AND event.seq = lane.cursor + 1
WHERE lane.tenant = ? AND lane.side = 'turns' AND lane.phase = 'ready' AND lane.deaths = 0
ORDER BY lane.ready_pos
LIMIT ?;

-- :suspect_turns
SELECT
    lane.*,
    event.id, event.seq, event.channel, event.provider_id, event.kind, event.accepted_at, event.occurred_at, event.late,
    event.payload, event.events_max
FROM procession_lane AS lane
LEFT JOIN procession_event AS event
    ON event.tenant = lane.tenant AND event.lane = lane.no AND event.seq = lane.cursor + 1
WHERE lane.tenant = ? AND lane.phase = 'ready' AND lane.deaths > 0
ORDER BY lane.deaths DESC, lane.ready_pos
LIMIT ?;

-- :most_deaths
SELECT deaths FROM procession_lane WHERE tenant = ? AND phase = 'ready' AND deaths > 0 ORDER BY deaths DESC LIMIT 1;

-- :ready_sends
SELECT lane.*
FROM procession_lane AS lane
WHERE lane.tenant = ? AND lane.side = 'sends' AND lane.phase = 'ready' AND lane.deaths = 0
ORDER BY lane.ready_pos
LIMIT ?;

-- :events
SELECT id, seq, channel, provider_id, kind, accepted_at, occurred_at, late, payload, events_max
FROM procession_event
WHERE tenant = ? AND lane = ? AND seq BETWEEN ? AND ?
ORDER BY seq;

-- :window_run
-- How far a turn that is claimed for the first time may reach; the caller stops at the first without a window.
SELECT seq, quiet FROM procession_event WHERE tenant = ? AND lane = ? AND seq > ? ORDER BY seq LIMIT ?;

-- :next_replay
SELECT seq FROM procession_event
WHERE tenant = ? AND lane = ? AND state = 'replaying'
ORDER BY seq
LIMIT 1;

-- :first_try_at
-- Of a turn that ended once already: a replay is one more try of it. Its tries stay as long as its events do; the row of
-- the turn itself may be pruned before.
SELECT min(at) FROM procession_try WHERE tenant = ? AND turn = ?;

-- :steps
SELECT name, occurrence, value FROM procession_step WHERE tenant = ? AND turn = ? ORDER BY name, occurrence;

-- :state
SELECT state FROM procession_state WHERE tenant = ? AND lane = ?;

-- :payload
SELECT payload FROM procession_effect WHERE tenant = ? AND lane = ? AND oseq = ?;
