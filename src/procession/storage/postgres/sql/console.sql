-- What operators see, and the few rows that only their verbs write.
--
-- Ensures: reading happens on one snapshot, on a connection that cannot write; each verb's audit row is in its own write.
-- Indexes: named at each statement where it is not a key.
-- Locks: aside takes its event, if nobody has it, so that of two operators one acts.

-- :tenant
SELECT no FROM procession_tenant WHERE tenant = $1;

-- :tally
SELECT
    coalesce(sum(accepted), 0)::bigint, coalesce(sum(duplicates), 0)::bigint, coalesce(sum(dropped), 0)::bigint, coalesce(sum(placed), 0)::bigint,
    coalesce(sum(done), 0)::bigint, coalesce(sum(set_aside), 0)::bigint, coalesce(sum(replayed), 0)::bigint, coalesce(sum(skipped), 0)::bigint,
    coalesce(sum(lanes), 0)::bigint, coalesce(sum(asked), 0)::bigint, coalesce(sum(confirmed), 0)::bigint, coalesce(sum(refused), 0)::bigint,
    coalesce(sum(cancelled), 0)::bigint, coalesce(sum(effects_skipped), 0)::bigint, coalesce(sum(resent), 0)::bigint,
    coalesce(sum(gates_expired), 0)::bigint
FROM procession_tally WHERE :tenant::bigint IS NULL OR tenant = :tenant;

-- :standing
-- Served by the partial indexes of held events, doubtful effects, parked and paused lanes, and held lanes.
SELECT
    (SELECT count(*) FROM procession_event WHERE state = 'held' AND (:tenant::bigint IS NULL OR tenant = :tenant)),
    (SELECT count(*) FROM procession_effect WHERE state = 'doubt' AND (:tenant::bigint IS NULL OR tenant = :tenant)),
    (SELECT count(*) FROM procession_lane WHERE parked IS NOT NULL AND (:tenant::bigint IS NULL OR tenant = :tenant)),
    (SELECT count(*) FROM procession_lane WHERE paused = 1 AND side = 'turns' AND (:tenant::bigint IS NULL OR tenant = :tenant)),
    (
        SELECT count(*) FROM procession_lane AS lane JOIN procession_effect AS effect
        ON effect.tenant = lane.tenant AND effect.lane = lane.no AND effect.oseq = lane.cursor + 1
        WHERE lane.phase = 'held' AND lane.side = 'sends' AND effect.state = 'armed'
        AND (:tenant::bigint IS NULL OR lane.tenant = :tenant)
    ),
    (SELECT count(*) FROM procession_quarantine WHERE :tenant::bigint IS NULL);

-- :places
-- Every channel that anything ever came through.
SELECT DISTINCT tenant.no, tenant.tenant, lane.channel
FROM procession_lane AS lane JOIN procession_tenant AS tenant ON tenant.no = lane.tenant
WHERE :tenant::text IS NULL OR tenant.tenant = :tenant;

-- :turns_of_effect
SELECT tenant.no, effect.turn
FROM procession_tenant AS tenant JOIN procession_effect AS effect ON effect.tenant = tenant.no AND effect.id = :id
WHERE :tenant::text IS NULL OR tenant.tenant = :tenant;

-- :turns_of_ref
SELECT turn FROM procession_effect WHERE tenant = $1 AND channel = $2 AND ref = $3;

-- :event
SELECT
    event.tenant, tenant.tenant, event.id, event.lane, lane.lane, lane.key, event.seq, event.state, event.channel,
    event.provider_id, event.kind, event.accepted_at, event.late, event.ended_at, event.reason, event.turn,
    event.held_until, lane.cursor, lane.phase, lane.due_at, lane.worker, lane.parked, lane.deaths, lane.turn,
    lane.turn_last, lane.aside_seq, lane.tries, lane.try_open, lane.try_at, lane.replaying, lane.merging
FROM procession_event AS event
JOIN procession_tenant AS tenant ON tenant.no = event.tenant
JOIN procession_lane AS lane ON lane.tenant = event.tenant AND lane.no = event.lane
WHERE event.tenant = $1 AND event.id = $2;

-- :unplayed
-- By procession_event_replaying and procession_event_seq.
SELECT id, seq FROM procession_event
WHERE tenant = :tenant AND lane = :lane AND state = 'replaying'
UNION ALL
SELECT id, seq FROM procession_event
WHERE tenant = :tenant AND lane = :lane AND seq > :cursor AND state IS NULL
ORDER BY seq;

-- :count_unplayed
SELECT
    (SELECT count(*) FROM procession_event WHERE tenant = :tenant AND lane = :lane AND state = 'replaying'),
    (
        SELECT min(accepted_at) FROM (
            SELECT accepted_at FROM procession_event WHERE tenant = :tenant AND lane = :lane AND state = 'replaying'
            UNION ALL
            SELECT accepted_at FROM procession_event WHERE tenant = :tenant AND lane = :lane AND seq > :cursor
        ) AS unplayed
    );

-- :replays_before
SELECT count(*) FROM procession_event
WHERE tenant = :tenant AND lane = :lane AND state = 'replaying' AND seq < :seq AND seq IS DISTINCT FROM :open::bigint;

-- :turn_of_seq
SELECT turn, ended_at FROM procession_turn
WHERE tenant = $1 AND lane = $2 AND first_seq <= $3 AND last_seq >= $4 ORDER BY no DESC LIMIT 1;

-- :windows_at_head
SELECT id, quiet, events_max FROM procession_event
WHERE tenant = $1 AND lane = $2 AND seq > $3 ORDER BY seq;

-- :tries
SELECT number, at, how, reason FROM procession_try WHERE tenant = $1 AND turn = $2 ORDER BY no;

-- :effects_of_turn
SELECT id FROM procession_effect WHERE tenant = $1 AND turn = $2 ORDER BY oseq, no;

-- :effect
SELECT
    effect.id, tenant.tenant, effect.channel, lane.lane, effect.oseq, effect.turn, effect.key, effect.action,
    effect.state, effect.attempts, effect.receipt, effect.failed, effect.ref, effect.reason, effect.asked_at,
    effect.changed_at, effect.doubt_until, effect.slot_at, lane.cursor, lane.phase, lane.due_at, lane.parked,
    lane.not_before, lane.merging, head.oseq, head.state, head.gate_receipt
FROM procession_effect AS effect
JOIN procession_tenant AS tenant ON tenant.no = effect.tenant
JOIN procession_lane AS lane ON lane.tenant = effect.tenant AND lane.no = effect.lane
LEFT JOIN procession_effect AS head
ON head.tenant = effect.tenant AND head.lane = effect.lane AND head.oseq = lane.cursor + 1
WHERE effect.tenant = $1 AND effect.id = $2;

-- :halts
-- Of one tenant, one effect's channel and tenant, or all; also those that are over, since the reader has no clock.
SELECT tenant.tenant, outlet.channel, outlet.held_from, outlet.held_until, outlet.held_reason
FROM procession_outlet AS outlet JOIN procession_tenant AS tenant ON tenant.no = outlet.tenant
WHERE outlet.held_from IS NOT NULL AND (:tenant::bigint IS NULL OR outlet.tenant = :tenant)
AND (:channel::text IS NULL OR outlet.channel IN (:channel, ''))
ORDER BY outlet.held_from, tenant.tenant, outlet.channel;

-- :shown
-- Of one tenant, or of all; a row for each channel that ever sent or was sent to, so that there are few.
SELECT tenant.tenant, outlet.channel
FROM procession_outlet AS outlet JOIN procession_tenant AS tenant ON tenant.no = outlet.tenant
WHERE outlet.shown > 0 AND outlet.channel <> '' AND (:tenant::bigint IS NULL OR outlet.tenant = :tenant);

-- :outlets_held
SELECT channel FROM procession_outlet
WHERE tenant = :tenant AND held_from IS NOT NULL AND (:channel::text IS NULL OR channel = :channel);

-- :sends_waiting
-- By procession_lane_stopped; its condition is repeated, so that the planner sees that it serves.
SELECT no FROM procession_lane
WHERE tenant = :tenant AND phase = 'waiting' AND phase IN ('waiting', 'paused', 'parked') AND side = 'sends'
AND (:channel::text IS NULL OR channel = :channel);

-- :lanes
SELECT lane.no, lane.tenant, tenant.tenant, lane.lane, lane.key, lane.channel, lane.side, lane.phase, lane.next_seq,
    lane.cursor, lane.epoch, lane.tries, lane.deaths, lane.parked, lane.due_at, lane.paused, lane.paused_until, lane.worker,
    heir.lane
FROM procession_lane AS lane JOIN procession_tenant AS tenant ON tenant.no = lane.tenant
LEFT JOIN procession_lane AS heir ON heir.no = lane.merged_into
WHERE (:tenant::text IS NULL OR tenant.tenant = :tenant) AND (:side::text IS NULL OR lane.side = :side)
AND CASE WHEN :phase::text IS NULL THEN lane.phase <> 'idle' ELSE lane.phase = :phase END
ORDER BY tenant.tenant, lane.lane, lane.side;

-- :lane
SELECT lane.no, lane.tenant, tenant.tenant, lane.lane, lane.key, lane.channel, lane.side, lane.phase, lane.next_seq,
    lane.cursor, lane.epoch, lane.tries, lane.deaths, lane.parked, lane.due_at, lane.paused, lane.paused_until, lane.worker,
    heir.lane
FROM procession_lane AS lane JOIN procession_tenant AS tenant ON tenant.no = lane.tenant
LEFT JOIN procession_lane AS heir ON heir.no = lane.merged_into
WHERE tenant.tenant = :tenant AND (lane.lane = :lane OR lane.key = :lane)
ORDER BY lane.lane, lane.side DESC;

-- :count_unfinished
-- By procession_effect_open.
SELECT count(*), min(asked_at) FROM procession_effect WHERE tenant = $1 AND lane = $2 AND ended_at IS NULL;

-- :asides
SELECT tenant.tenant, event.id, event.kind, lane.lane, lane.key, event.seq, event.ended_at, event.reason, event.payload,
    (SELECT count(*) FROM procession_try AS try WHERE try.tenant = event.tenant AND try.turn = event.turn)
FROM procession_event AS event
JOIN procession_tenant AS tenant ON tenant.no = event.tenant
JOIN procession_lane AS lane ON lane.tenant = event.tenant AND lane.no = event.lane
WHERE event.state = 'set_aside' AND (:tenant::text IS NULL OR tenant.tenant = :tenant) AND (:id::text IS NULL OR event.id = :id)
ORDER BY event.ended_at DESC, event.seq DESC LIMIT :limit;

-- :aside
SELECT tenant, lane, no FROM procession_event WHERE tenant = $1 AND id = $2 AND state = 'set_aside'
FOR UPDATE NOWAIT;

-- :doubts
SELECT tenant, id FROM procession_effect
WHERE state = 'doubt' AND (:tenant::bigint IS NULL OR tenant = :tenant) ORDER BY changed_at, no LIMIT :limit;

-- :quarantine
SELECT id, endpoint, at, reason, length(body) FROM procession_quarantine ORDER BY at DESC, no DESC LIMIT $1;

-- :quarantine_show
SELECT id, endpoint, at, reason, length(body), headers, body FROM procession_quarantine WHERE id = $1;

-- :quarantine_remove
DELETE FROM procession_quarantine WHERE id = $1;

-- :audit
SELECT at, actor, tenant, verb, about, detail FROM procession_audit
WHERE :tenant::text IS NULL OR tenant = :tenant ORDER BY no DESC LIMIT :limit;

-- :replaying
UPDATE procession_event SET state = 'replaying', ended_at = NULL, reason = NULL
WHERE tenant = $1 AND lane = $2 AND no = $3;

-- :drop_aside
UPDATE procession_event SET state = 'skipped', reason = 'dropped by an operator; ' || reason
WHERE tenant = $1 AND lane = $2 AND no = $3;

-- :sending
UPDATE procession_store SET sending_paused = $1 WHERE one = 1;

-- :era
UPDATE procession_store SET era = era + 1, sending_paused = 1 WHERE one = 1 RETURNING era;

-- :unfinished
SELECT tenant, id FROM procession_effect WHERE ended_at IS NULL AND state IN ('pending', 'armed');

-- :held_lanes
SELECT tenant, no FROM procession_lane WHERE phase = 'held';

-- :sends_with_work
SELECT tenant, no FROM procession_lane WHERE side = 'sends' AND phase NOT IN ('held', 'idle');
