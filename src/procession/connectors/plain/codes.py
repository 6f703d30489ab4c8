"""What an HTTP status of the other side says about a POST that carries our key."""

from enum import StrEnum
from typing import Final


class Says(StrEnum):
    TAKEN = "taken"
    LATER = "later"
    """Not taken: it is to be sent again, after Retry-After if there is one."""
    NEVER = "never"
    """Not taken, and another try would fare no better."""
    UNCLEAR = "unclear"
    """It may have been taken before the answer went wrong."""


SPECIAL: Final = {
    408: (Says.UNCLEAR, "the other side gave up waiting for the request"),
    425: (Says.LATER, "too early"),
    429: (Says.LATER, "too many requests"),
    503: (Says.LATER, "the other side is not available"),
}


def says(status: int) -> tuple[Says, str]:
    """The verdict of a status, with words for an operator."""
    if status in SPECIAL:
        return SPECIAL[status]
    if 200 <= status < 300:
        return Says.TAKEN, ""
    if 300 <= status < 400:
        return Says.NEVER, "it answered a redirect, which is not followed: configure the final URL"
    if 400 <= status < 500:
        return Says.NEVER, "it refused the request"
    return Says.UNCLEAR, "it failed after it had the request"
