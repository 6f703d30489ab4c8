"""Settings are read once for each version of an endpoint or channel: a directory's snapshots are immutable."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Source = TypeVar("Source")
Read = TypeVar("Read")


class OncePerVersion(Generic[Source, Read]):
    def __init__(self, key: Callable[[Source], Hashable], read: Callable[[Source], Read]) -> None:
        self._key = key
        self._read = read
        self._kept: dict[Hashable, tuple[Source, Read]] = {}

    def of(self, source: Source) -> Read:
        key = self._key(source)
        kept = self._kept.get(key)
        if kept is not None and kept[0] is source:
            return kept[1]
        read = self._read(source)
        self._kept[key] = (source, read)
        return read
