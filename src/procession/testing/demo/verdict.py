"""What a demo came to: the verdict of the simulated WhatsApp, and how the engine came back from its kills."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from procession.testing.whatsapp.verdict import Verdict as Judged

DIGITS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One kill -9, and the return from it."""

    turns: int
    """In flight at that moment,"""
    sends: int
    """begun and not answered for,"""
    owed: int
    """and accepted texts that waited for a reply."""
    accepting_after_s: float
    replying_after_s: float | None = None
    made_good_after_s: float | None = None
    """Until every one of those texts was answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    told: Judged
    turns: int
    statuses: int
    doubts_proven: int
    """Sends without an answer that a status has shown to be taken."""
    doubts_resolved: int
    """Sends that an operator had to look after, since a kill came before their first byte."""
    doubts_open: int
    reply_s: Mapping[str, float | None]
    """By tenant: the median wait for a first step."""
    kills: tuple[Kill, ...]

    @property
    def holds(self) -> bool:
        return self.told.holds and not self.doubts_open

    @property
    def out_of_order(self) -> int:
        return out_of_order(self.told)

    @property
    def astray(self) -> int:
        return astray(self.told)

    def document(self) -> dict[str, object]:
        own = {name: value for name, value in asdict(self).items() if name != "told"}
        return {**self.told.document(), **own, "holds": self.holds}

    @property
    def line(self) -> str:
        told = self.told
        missing = told.not_taken + told.lost + told.unanswered
        return (
            f"{told.taken:,} texts accepted, {self.turns:,} answered in three steps; lost {missing}, "
            f"out of order {self.out_of_order}, twice {told.duplicate}, astray {self.astray}"
        )


def out_of_order(told: Judged) -> int:
    """As the provider took them, or as handsets showed them."""
    return told.out_of_order_accepted + told.out_of_order_shown


def astray(told: Judged) -> int:
    """At another tenant, at another person, or about nothing that anybody typed."""
    return told.cross_tenant + told.astray + told.not_asked_for
