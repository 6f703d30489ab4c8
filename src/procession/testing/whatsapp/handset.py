"""What a person sees: bubbles in the order in which they were delivered."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubble:
    at: float
    """In the simulation's seconds."""
    wamid: str
    kind: str
    body: str
    effect: str | None
    """What came along as `biz_opaque_callback_data`."""


@dataclass(slots=True, kw_only=True)
class Handset:
    shown: list[Bubble] = field(default_factory=list[Bubble])

    def show(self, bubble: Bubble) -> None:
        self.shown.append(bubble)
