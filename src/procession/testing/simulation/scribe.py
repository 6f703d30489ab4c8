"""What the parts of a world tell its auditor, whichever auditor that is."""

from enum import StrEnum
from typing import Protocol

from procession.testing.simulation.history import History
from procession.testing.simulation.nodes import Node


class Scribe(Protocol):
    @property
    def history(self) -> History: ...

    def note(self, who: str, what: str, about: tuple[str, ...], *more: object) -> None:
        """One line of the history."""
        ...

    def seen(self, rare: StrEnum) -> None:
        """A rare state was reached."""
        ...

    def node_starts(self, node: Node) -> None: ...

    def node_died(self, node: Node, why: str) -> None: ...
