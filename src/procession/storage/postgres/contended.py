"""Somebody else has what a batch needs."""

from dataclasses import dataclass, field


class Contended(Exception):
    """Another has it, or has changed it since it was read: the batch is rolled back, and begins anew with it."""

    def __init__(self, what: "Needed | None" = None) -> None:
        super().__init__("another process has what this batch needs")
        self.what = Needed() if what is None else what


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What a batch locks before anything else, each kind in one order. Lanes are named, or known by number."""

    lanes: frozenset[tuple[int, str]] = field(default_factory=frozenset)
    lane_numbers: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    outlets: frozenset[tuple[int, str]] = field(default_factory=frozenset)
    holds: frozenset[str] = field(default_factory=frozenset)

    def __or__(self, other: "Needed") -> "Needed":
        return Needed(
            lanes=self.lanes | other.lanes,
            lane_numbers=self.lane_numbers | other.lane_numbers,
            outlets=self.outlets | other.outlets,
            holds=self.holds | other.holds,
        )
