"""Rare states: a campaign that never saw them has shown nothing about them."""

from collections import Counter
from enum import StrEnum


class Rare(StrEnum):
    TAKEOVER_WHILE_ARMED = "takeover_while_armed"
    """A conversation was taken from a sender whose effect was armed."""
    STALE_WRITE_REFUSED = "stale_write_refused"
    """A write under an epoch that another had gone beyond."""
    UNKNOWN_COMMIT_KEPT = "unknown_commit_kept"
    UNKNOWN_COMMIT_LOST = "unknown_commit_lost"
    DUPLICATE_DROPPED = "duplicate_dropped"
    DOUBT_PROVEN = "doubt_proven"
    """A doubt ended by evidence: a status, a probe."""
    DOUBT_PARKED = "doubt_parked"
    LATE_ACCEPT = "late_accept"
    """The provider took an effect after our call had ended."""
    CRASH_IN_RECOVERY = "crash_in_recovery"
    CRASH_BETWEEN_ARM_AND_WIRE = "crash_between_arm_and_wire"
    COMMIT_DISK_FULL = "commit_disk_full"
    SET_ASIDE_AND_REPLAYED = "set_aside_and_replayed"
    POISON_KILLS_PROCESS = "poison_kills_process"


RareCounts = Counter[Rare]
