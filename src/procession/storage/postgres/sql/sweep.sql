-- Sweep: what is due.
--
-- Ensures: nothing by itself; each row that these find is looked at by the code that every other operation uses.
-- Indexes: procession_lane_lease (lease_until), procession_lane_due (due_at), procession_effect_doubt (doubt_until),
-- procession_event_held_until (held_until), procession_reminder_due (due_at, asked): what is not due is behind the end of the scan.
-- Locks: what is found, if nobody has it; another sweeper, or a holder that is just coming back, is passed over.

-- :leases_over
SELECT lane.* FROM procession_lane AS lane
WHERE lane.phase = 'held' AND lane.lease_until <= $1
ORDER BY lane.lease_until
LIMIT $2
FOR UPDATE OF lane SKIP LOCKED;

-- :lanes_due
SELECT lane.* FROM procession_lane AS lane
WHERE lane.due_at IS NOT NULL AND lane.due_at <= $1
ORDER BY lane.due_at
LIMIT $2
FOR UPDATE OF lane SKIP LOCKED;

-- :doubts_over
-- Not while a sender holds the conversation: its probe comes to its end first, and whoever puts the lane to rest looks then.
SELECT effect.tenant, effect.id, effect.lane FROM procession_effect AS effect
JOIN procession_lane AS lane ON lane.tenant = effect.tenant AND lane.no = effect.lane
WHERE effect.state = 'doubt' AND effect.doubt_until <= $1 AND lane.phase <> 'held'
ORDER BY effect.doubt_until
LIMIT $2
FOR UPDATE OF effect, lane SKIP LOCKED;

-- :held_over
SELECT event.tenant, event.lane FROM procession_event AS event
JOIN procession_lane AS lane ON lane.tenant = event.tenant AND lane.no = event.lane
WHERE event.state = 'held' AND event.held_until <= $1
ORDER BY event.held_until
LIMIT 1
FOR UPDATE OF event, lane SKIP LOCKED;

-- :reminders_due
SELECT reminder.tenant, reminder.lane, reminder.name, reminder.generation, reminder.payload
FROM procession_reminder AS reminder
JOIN procession_lane AS lane ON lane.tenant = reminder.tenant AND lane.no = reminder.lane
WHERE reminder.due_at IS NOT NULL AND reminder.due_at <= $1
ORDER BY reminder.due_at, reminder.asked
LIMIT $2
FOR UPDATE OF reminder, lane SKIP LOCKED;

-- :reminder_rung
UPDATE procession_reminder SET due_at = NULL, payload = ''::bytea WHERE tenant = $1 AND lane = $2 AND name = $3;

-- :next_lease
SELECT min(lease_until) FROM procession_lane WHERE phase = 'held';

-- :next_lane
SELECT min(due_at) FROM procession_lane WHERE due_at IS NOT NULL;

-- :next_doubt
SELECT effect.doubt_until FROM procession_effect AS effect
JOIN procession_lane AS lane ON lane.tenant = effect.tenant AND lane.no = effect.lane
WHERE effect.state = 'doubt' AND effect.doubt_until IS NOT NULL AND lane.phase <> 'held'
ORDER BY effect.doubt_until
LIMIT 1;

-- :next_held
SELECT min(held_until) FROM procession_event WHERE state = 'held';

-- :next_reminder
SELECT min(due_at) FROM procession_reminder WHERE due_at IS NOT NULL;
