"""A row of procession_lane: one side of one lane."""

from typing import Any, Final

from procession.core.lane import Phase, Side

# Plain strings: the driver binds them several times faster than members of an enumeration.
TURNS: Final[str] = Side.TURNS.value
SENDS: Final[str] = Side.SENDS.value
IDLE: Final[str] = Phase.IDLE.value
READY: Final[str] = Phase.READY.value
HELD: Final[str] = Phase.HELD.value
WAITING: Final[str] = Phase.WAITING.value
PAUSED: Final[str] = Phase.PAUSED.value
PARKED: Final[str] = Phase.PARKED.value

TRY_OPEN: Final = 1
TRY_ALONE: Final = 2


class Lane:
    """The columns in the table's order, which the store compares with the table's when it opens a file.

    A plain class, filled in one assignment: a lane is read for each turn that is claimed. What the columns mean stands
    in `migrations/`.
    """

    COLUMNS: Final = (
        "no",
        "tenant",
        "lane",
        "side",
        "key",
        "channel",
        "phase",
        "next_seq",
        "cursor",
        "epoch",
        "worker",
        "lease_until",
        "ready_pos",
        "due_at",
        "not_before",
        "turn",
        "turn_last",
        "tries",
        "deaths",
        "deaths_alone",
        "first_try_at",
        "try_at",
        "try_open",
        "windowed",
        "has_state",
        "has_steps",
        "parked",
        "parked_for",
        "paused",
        "paused_until",
        "pause_pass",
        "pause_keep",
        "pause_reason",
        "settled_epoch",
        "settled",
        "chained",
        "replaying",
        "aside_seq",
        "order_last",
        "heard_at",
        "burst_since",
        "burst_count",
        "named",
        "merged_into",
        "closing",
        "merging",
    )
    __slots__ = (*COLUMNS, "fresh", "kept_epoch", "kept_phase", "kept_suspect")

    no: int
    tenant: int
    lane: str
    side: str
    key: str
    channel: str
    phase: str
    next_seq: int
    cursor: int
    epoch: int
    worker: str
    lease_until: int | None
    ready_pos: int | None
    due_at: int | None
    not_before: int | None
    turn: str | None
    turn_last: int | None
    tries: int
    deaths: int
    deaths_alone: int
    first_try_at: int | None
    try_at: int | None
    try_open: int
    windowed: int
    has_state: int
    has_steps: int
    parked: str | None
    parked_for: str | None
    paused: int
    paused_until: int | None
    pause_pass: int
    pause_keep: int
    pause_reason: str
    settled_epoch: int
    settled: str
    chained: int
    replaying: int
    aside_seq: int | None
    order_last: int | None
    heard_at: int | None
    burst_since: int
    burst_count: int
    named: int
    merged_into: int | None
    closing: int
    merging: int

    fresh: bool
    """It has no row yet."""
    kept_phase: str
    kept_suspect: bool
    kept_epoch: int
    """How the row in the file stands: what the counts of fairness and the fence of the next write start from."""

    def __init__(self, row: tuple[Any, ...], *, fresh: bool = False) -> None:
        (
            self.no,
            self.tenant,
            self.lane,
            self.side,
            self.key,
            self.channel,
            self.phase,
            self.next_seq,
            self.cursor,
            self.epoch,
            self.worker,
            self.lease_until,
            self.ready_pos,
            self.due_at,
            self.not_before,
            self.turn,
            self.turn_last,
            self.tries,
            self.deaths,
            self.deaths_alone,
            self.first_try_at,
            self.try_at,
            self.try_open,
            self.windowed,
            self.has_state,
            self.has_steps,
            self.parked,
            self.parked_for,
            self.paused,
            self.paused_until,
            self.pause_pass,
            self.pause_keep,
            self.pause_reason,
            self.settled_epoch,
            self.settled,
            self.chained,
            self.replaying,
            self.aside_seq,
            self.order_last,
            self.heard_at,
            self.burst_since,
            self.burst_count,
            self.named,
            self.merged_into,
            self.closing,
            self.merging,
        ) = row
        self.fresh = fresh
        self.kept_phase, self.kept_suspect, self.kept_epoch = self.phase, self.deaths > 0, self.epoch

    @property
    def last(self) -> int:
        """The newest seq, or oseq, that was given out."""
        return self.next_seq - 1


def new_lane(no: int, tenant: int, lane: str, side: str, key: str, channel: str) -> Lane:
    """A lane in which nothing has happened."""
    fresh = (
        no,
        tenant,
        lane,
        side,
        key,
        channel,
        IDLE,  # phase
        1,  # next_seq
        0,  # cursor
        0,  # epoch
        "",  # worker
        None,  # lease_until
        None,  # ready_pos
        None,  # due_at
        None,  # not_before
        None,  # turn
        None,  # turn_last
        0,  # tries
        0,  # deaths
        0,  # deaths_alone
        None,  # first_try_at
        None,  # try_at
        0,  # try_open
        0,  # windowed
        0,  # has_state
        0,  # has_steps
        None,  # parked
        None,  # parked_for
        0,  # paused
        None,  # paused_until
        0,  # pause_pass
        0,  # pause_keep
        "",  # pause_reason
        0,  # settled_epoch
        "",  # settled
        0,  # chained
        0,  # replaying
        None,  # aside_seq
        None,  # order_last
        None,  # heard_at
        0,  # burst_since
        0,  # burst_count
        0,  # named
        None,  # merged_into
        0,  # closing
        0,  # merging
    )
    return Lane(fresh, fresh=True)
