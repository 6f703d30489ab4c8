"""How the rules reach rows: by statements that are called by name, and that each store has its own text for.

`accept.event` is the statement `event` of the group `accept`. What a statement is given, and answers, is the same in
every store; how it locks, and which index serves it, stands at its text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

Arguments = Sequence[Any] | Mapping[str, Any]


class Answer(Protocol):
    """What a statement answers: rows as tuples, or how many it has touched."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...  # noqa: ANN401  # as wide as a row

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Rows(Protocol):
    """A connection, seen from the rules."""

    def execute(self, name: str, arguments: Arguments = (), /) -> Answer: ...

    def executemany(self, name: str, arguments: Iterable[Arguments], /) -> object: ...
