"""The reference store, in memory."""

from procession.storage.memory.store import MemoryStore

__all__ = ["MemoryStore"]
