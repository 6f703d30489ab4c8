"""Every bound, with its unit and its reason. Settings may lower or raise those that the configuration page names."""

from datetime import timedelta
from typing import Final

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
"""A delivery's body: the largest that WhatsApp sends."""
DEPTH_MAX: Final = 64
"""Nesting of a JSON body: deeper than any provider's, far below what exhausts a parser's stack."""
ELEMENTS_MAX: Final = 10_000
"""Events and sightings of one delivery: ten times the documented 1,000 updates of a WhatsApp POST."""
INTEGER_DIGITS_MAX: Final = 4_000
"""Below Python's own bound of 4,300, past which int() raises; longer ones make a body unreadable, not a crash."""
SECRET_BYTES_MIN: Final = 24
"""A shorter signing secret can be guessed; Standard Webhooks asks for the same."""
LANE_KEY_CHARS_MAX: Final = 512
"""Of a lane's key and of a provider's id: longer ones are quarantined, since they end up in indexes."""
KIND_CHARS_MAX: Final = 128
"""Of an event's kind: it is a label of metrics and logs."""

LEASE_TTL: Final = timedelta(seconds=10)
"""How long a lane stays with a silent worker: a dead worker's lanes go on after this."""
TRUST_SHARE: Final = 2 / 3
"""The share of a lease after which its holder stops acting by itself, counted from before the claim was sent. The last
third covers what the holder cannot see: how long the store's answer travelled, and how late its own timer fires."""
RENEW_SHARE: Final = 1 / 3
"""A lease is renewed each third of its length, so that one lost renewal is survived."""
SLOTS: Final = 64
"""Turns in flight in one process: the handlers mostly wait for models and calendars."""
THREADS_MAX: Final = 16
"""Threads for plain handlers: they cannot be cancelled, so their number is what bounds them."""
SENDS_MAX: Final = 64
"""Sends in flight in one process."""
KEEP_TURNS_MAX: Final = 16
"""Turns that a lane may play in a row in one slot, so that a busy conversation does not hold it for ever."""
TURN_DEADLINE: Final = timedelta(minutes=5)
"""How long a handler may take: generous for a chain of model calls, and short enough that a hung one is noticed."""
SQL_TIME_MAX: Final = timedelta(milliseconds=250)
"""Of a turn's own SQL, all together: it runs while every other write of the store waits."""
SUSPECTS_TOGETHER_MAX: Final = 8
"""Turns that may run side by side after they were in flight at one crash. Those seen at a second one run alone."""
DEATHS_ALONE_MAX: Final = 3
"""A turn during which its process died so often while nothing else ran in it is what kills it, and is set aside."""
STEP_BYTES_MAX: Final = 1024 * 1024
"""Of one remembered step: a model's answer, not a file."""
STATE_BYTES_MAX: Final = 256 * 1024
"""Of a lane's state: it is read and written with every turn."""
EFFECTS_MAX: Final = 100
"""Effects of one turn: a campaign is not a turn."""
EFFECT_BYTES_MAX: Final = 1024 * 1024
"""Of one effect's payload."""
REMINDERS_MAX: Final = 100
"""Reminders that one turn may set."""

POLL: Final = timedelta(seconds=1)
"""How long a stage sleeps at most when no bell rings: bells are hints, polling is the truth."""
BATCH_MAX: Final = 256
"""Writes of one commit: past this the gain is small and the first of them waits for the last."""
WRITES_WAITING_MAX: Final = 4_096
"""Writes that may wait for the writer; above it ingress answers 503 rather than let its memory grow."""
SWEEP_ROWS_MAX: Final = 500
"""Rows of each kind that one sweep changes: it shares the writer with everybody else."""
DRAIN_WAIT: Final = timedelta(seconds=20)
"""How long a stopping process waits for its turns and sends before it releases them."""

DEDUP_KEEP_MIN: Final = timedelta(days=8)
"""WhatsApp repeats a delivery for up to seven days; a day of margin."""
DEDUP_KEEP: Final = timedelta(days=30)
"""How long settled events, and with them the memory of their ids, are kept."""
REDELIVERY_AGE_MAX: Final = DEDUP_KEEP
"""A signed event older than the memory of ids could be a replay that dedup cannot see: it goes to quarantine."""

ALIASES_MAX: Final = 8
"""Names of one event's subject: phone number, business-scoped id, its parent's, each twice when one of them changes."""
ALIAS_RETIRED_KEEP: Final = timedelta(days=30)
"""How long a name that a subject has given up still leads to its lane: longer than any provider repeats a delivery,
shorter than it takes until a phone number is given to somebody else."""
ANSWER_WINDOW: Final = timedelta(hours=24)
"""How long after a person's last word WhatsApp lets a business answer freely; after it, only by template."""
FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a file that a handler fetches or uploads: it is held in memory. WhatsApp takes no larger voice note or video."""
FILE_WAIT: Final = timedelta(seconds=60)
"""For one file: sixteen megabytes at two megabits a second."""
FILES_MAX: Final = 16
"""Files under way at once in a process; with FILE_BYTES_MAX that bounds what they take of its memory."""
HALT_LOOK: Final = timedelta(seconds=30)
"""How often a conversation that is held back until somebody acts is looked at, should its release go unnoticed."""

SEALS_MAX: Final = 2**20
"""Boxes that one data key seals before the next takes over. Their nonces are 96 random bits: after 2^20 of them two are
the same with a chance of 2^-57, and no tenant sets a secret a million times; NIST's own bound is 2^32, with 2^-33."""
REWRAPS_MAX: Final = 500
"""Data keys that one call of a master key's rotation wraps anew: each may be a call of somebody else's program."""
AUDIT_WAIT: Final = timedelta(milliseconds=500)
"""How long a turn that opens a secret waits for its audit row: a hundred times what a commit takes."""
SECRET_OPENS_KEEP: Final = timedelta(days=30)
"""How long the audit remembers which turn opened which secret: one row a turn, so that it would outgrow all else."""
OPEN_KEYS_MAX: Final = 1_024
"""Unwrapped data keys that are kept open where somebody else's program unwraps them: 32 bytes each."""
OPEN_KEY_TTL: Final = timedelta(minutes=5)
"""How long: after this a key that its owner has taken away opens nothing more."""
KEY_COMMAND_WAIT: Final = timedelta(seconds=10)
"""How long such a program may take for one key: a call over a network, and its repeats."""
