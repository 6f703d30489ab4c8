from enum import Enum


class Interleaving(Enum):
    """Who runs next, of all who are ready."""

    ARRIVAL = "as they became ready, as asyncio does it"
    NODES = "any node; within a node as they became ready"
    ALL = "any node, and within a node any of the first sixteen"
