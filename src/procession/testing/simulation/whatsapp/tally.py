"""What an auditor of WhatsApp worlds counts beside violations, and how a violation is told."""

from collections import Counter
from enum import StrEnum

from procession.testing.simulation.history import History


class Wrong(StrEnum):
    """None of these may happen."""

    LOST = "lost"
    DUPLICATES = "duplicates"
    OUT_OF_ORDER_ACCEPTED = "out_of_order_accepted"
    OUT_OF_ORDER_SHOWN = "out_of_order_shown"
    CROSS_TENANT = "cross_tenant"


class Declared(StrEnum):
    """These may, and are counted: a tenant has chosen them."""

    DECLARED_DUPLICATES = "declared_duplicates"
    """Taken again after a resend that policy or an operator had declared."""
    PAIRS_BEHIND_EXPIRED_GATES = "pairs_behind_expired_gates"
    PAIRS_BEHIND_DOUBTS = "pairs_behind_doubts"
    SHOWN_OTHERWISE = "shown_otherwise"
    """Pairs that a handset shows in another order: behind an expired gate, a passed doubt, or without a gate."""


class Tally:
    def __init__(self, history: History) -> None:
        self.history = history
        self.counts: Counter[str] = Counter()
        self.rare: Counter[str] = Counter()

    def wrong(self, what: Wrong, rule: str, text: str, *about: str) -> None:
        self.counts[what] += 1
        self.history.fail(rule, text, *about)

    def fail(self, rule: str, text: str, *about: str) -> None:
        self.history.fail(rule, text, *about)

    def declared(self, what: Declared) -> None:
        self.counts[what] += 1

    def seen(self, what: StrEnum, times: int = 1) -> None:
        if times:
            self.rare[what] += times
