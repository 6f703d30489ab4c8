"""A turn's remembered steps: under which place each call of a step stands, and what earlier tries left there."""

from collections.abc import Sequence

from procession.core.errors import TurnMisused
from procession.core.limits import KIND_CHARS_MAX
from procession.core.turn import Step


class Memo:
    """Calls of one name are numbered in the order in which the handler makes them: a second try makes the same ones."""

    __slots__ = ("_called", "_kept")

    def __init__(self, steps: Sequence[Step]) -> None:
        self._kept = {(step.name, step.occurrence): step.value for step in steps}
        self._called: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The occurrence of this call: 0 for the first of its name in this try."""
        if not isinstance(name, str) or not 0 < len(name) <= KIND_CHARS_MAX:
            raise TurnMisused(
                f"turn.step({name!r}, …): a step is kept under a name of 1 to {KIND_CHARS_MAX} characters, the same "
                "in every try: `await turn.step('intent', understand, text)`"
            )
        occurrence = self._called.get(name, 0)
        self._called[name] = occurrence + 1
        return occurrence

    def recall(self, name: str, occurrence: int) -> bytes | None:
        return self._kept.get((name, occurrence))

    def keep(self, step: Step) -> None:
        self._kept[step.name, step.occurrence] = step.value
