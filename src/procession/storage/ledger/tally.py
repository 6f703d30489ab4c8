"""What is counted of each tenant, in the same commit as what it counts: the columns of procession_tally."""

from typing import Final

from procession.storage.ledger.effect import CANCELLED, CONFIRMED, REFUSED, SKIPPED

ENDED_AS: Final = {
    CONFIRMED: "confirmed",
    REFUSED: "refused",
    CANCELLED: "cancelled",
    SKIPPED: "effects_skipped",
}

NO_TALLY: Final = dict.fromkeys(
    (
        "accepted",
        "duplicates",
        "dropped",
        "placed",
        "done",
        "set_aside",
        "replayed",
        "skipped",
        "lanes",
        "asked",
        "confirmed",
        "refused",
        "cancelled",
        "effects_skipped",
        "resent",
        "gates_expired",
    ),
    0,
)
