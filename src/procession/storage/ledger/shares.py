"""Fairness between tenants (C2, C3): how far each has come in virtual time, and how many of its lanes are ready or
held.

One process owns the file, so these are kept in memory, are made anew when the file is opened, and follow the
transaction: what a transaction changed here is put back when it is rolled back.

Virtual time: each lane that is claimed moves its tenant forward by 1 / weight, and the next lane is taken from the
tenant that is furthest behind. A tenant that becomes active starts at the present, so that it has no claim on what it
did not use. Each pool has a present of its own: a pool that is served slowly must not be judged by the time of a busy
one.
"""

import heapq
from collections.abc import Callable, Iterable

from procession.storage.ledger.lane import HELD, READY, SENDS, TURNS


class Standing:
    """One tenant's place on one side."""

    __slots__ = ("held", "ready", "saved_in", "suspects", "vtime")

    def __init__(self) -> None:
        self.vtime = 0.0
        self.ready = 0
        """Ready lanes without deaths."""
        self.suspects = 0
        """Ready lanes with deaths."""
        self.held = 0
        self.saved_in = 0
        """The part of a transaction in which it was last saved, see `Shares`."""


class Share:
    """One tenant."""

    __slots__ = ("active", "lanes_max", "no", "pool", "sends", "tenant", "turns", "weight")

    def __init__(self, no: int, tenant: str) -> None:
        self.no = no
        self.tenant = tenant
        self.weight = 1
        self.lanes_max: int | None = None
        self.pool = ""
        self.active = True
        self.turns = Standing()
        self.sends = Standing()


class _Saved:
    """What one part of a transaction (the whole, or a savepoint) has changed, to be put back."""

    __slots__ = ("added", "number", "presents", "standings")

    def __init__(self, number: int, presents: dict[tuple[str, str], float]) -> None:
        self.number = number
        self.presents = presents
        self.standings: list[tuple[Share, str, Standing, tuple[float, int, int, int]]] = []
        self.added: list[Share] = []


class Shares:
    def __init__(self) -> None:
        self._by_name: dict[str, Share] = {}
        self._by_no: dict[int, Share] = {}
        self._active: dict[str, dict[int, Share]] = {TURNS: {}, SENDS: {}}
        self._presents: dict[tuple[str, str], float] = {}
        self._parts: list[_Saved] = []
        self._parts_begun = 0

    # --- tenants ---

    def find(self, tenant: str) -> Share | None:
        return self._by_name.get(tenant)

    def __getitem__(self, no: int) -> Share:
        return self._by_no[no]

    def add(self, share: Share) -> None:
        self._by_name[share.tenant] = share
        self._by_no[share.no] = share
        if self._parts:
            self._parts[-1].added.append(share)

    def configure(self, no: int, *, weight: int, lanes_max: int | None, pool: str, active: bool) -> None:
        """The directory says something else of the tenant now."""
        share = self._by_no[no]
        share.weight, share.lanes_max, share.pool, share.active = weight, lanes_max, pool, active

    def all(self) -> Iterable[Share]:
        return self._by_no.values()

    def recount(
        self,
        *,
        ready: Iterable[tuple[int, str, int]],
        suspects: Iterable[tuple[int, int]],
        held: Iterable[tuple[int, str, int]],
    ) -> None:
        """Set the counts from those of the file."""
        for no, side, count in ready:
            self._standing(self._by_no[no], side).ready = count
            self._active[side][no] = self._by_no[no]
        for no, count in suspects:
            self._by_no[no].turns.suspects = count
            self._active[TURNS][no] = self._by_no[no]
        for no, side, count in held:
            self._standing(self._by_no[no], side).held = count

    @staticmethod
    def _standing(share: Share, side: str) -> Standing:
        return share.turns if side == TURNS else share.sends

    # --- lanes that come and go ---

    def moved(self, no: int, side: str, before: tuple[str, bool], after: tuple[str, bool]) -> None:
        """A lane went from one phase to another; each with whether it had deaths."""
        share = self._by_no[no]
        standing = share.turns if side == TURNS else share.sends
        self._save(share, side, standing)
        self._count(standing, before, -1)
        self._count(standing, after, 1)
        if standing.ready + standing.suspects == 0:
            self._active[side].pop(no, None)
        elif no not in self._active[side]:
            standing.vtime = max(standing.vtime, self._presents.get((side, share.pool), 0.0))
            self._active[side][no] = share

    @staticmethod
    def _count(standing: Standing, where: tuple[str, bool], by: int) -> None:
        phase, suspect = where
        if phase == HELD:
            standing.held += by
        elif phase == READY and suspect:
            standing.suspects += by
        elif phase == READY:
            standing.ready += by

    # --- who is next ---

    def pick(
        self, side: str, pools: frozenset[str], lanes_max: int, ready: Callable[[Share, Standing], int]
    ) -> list[Share]:
        """Whose lane is taken, again and again, always the one's furthest behind; `ready` says how many it may give."""
        heap: list[tuple[float, str, int, Share]] = []
        for share in self._active[side].values():
            left = self._may_give(side, share, ready)
            if left > 0 and share.active and share.pool in pools:
                heap.append((self._behind(side, share, pools), share.tenant, left, share))
        heapq.heapify(heap)
        picked: list[Share] = []
        while heap and len(picked) < lanes_max:
            behind, tenant, left, share = heap[0]
            picked.append(share)
            self._advance(side, share)
            if left > 1:
                heapq.heapreplace(heap, (behind + 1 / share.weight, tenant, left - 1, share))
            else:
                heapq.heappop(heap)
        return picked

    def most(self, side: str, pools: frozenset[str], of: Callable[[Share, Standing], int]) -> int:
        """The highest `of` among the tenants that a claim may take lanes from."""
        return max(
            (
                of(share, share.turns if side == TURNS else share.sends)
                for share in self._active[side].values()
                if share.active and share.pool in pools and self._may_give(side, share, lambda _share, _standing: 1) > 0
            ),
            default=0,
        )

    @staticmethod
    def _may_give(side: str, share: Share, ready: Callable[[Share, Standing], int]) -> int:
        if side == SENDS:
            return ready(share, share.sends)
        left = ready(share, share.turns)
        return left if share.lanes_max is None else min(left, share.lanes_max - share.turns.held)

    def _behind(self, side: str, share: Share, pools: frozenset[str]) -> float:
        """What tenants are ordered by: between pools, only how far each is from its own pool's present can be
        compared.
        """
        vtime = share.turns.vtime if side == TURNS else share.sends.vtime
        return vtime if len(pools) == 1 else vtime - self._presents.get((side, share.pool), 0.0)

    def _advance(self, side: str, share: Share) -> None:
        standing = share.turns if side == TURNS else share.sends
        self._save(share, side, standing)
        place = (side, share.pool)
        self._presents[place] = max(self._presents.get(place, 0.0), standing.vtime)
        standing.vtime += 1 / share.weight

    def may_keep(self, no: int) -> bool:
        """T11: whether a lane of the tenant that is held now may be claimed anew in the same write."""
        share = self._by_no[no]
        return share.active and (share.lanes_max is None or share.turns.held - 1 < share.lanes_max)

    # --- following the transaction ---

    def begin(self) -> None:
        """A transaction, or a savepoint in it, begins."""
        self._parts_begun += 1
        self._parts.append(_Saved(self._parts_begun, dict(self._presents)))

    def commit(self) -> None:
        """The innermost part is kept, as a part of what is around it."""
        part = self._parts.pop()
        if self._parts:
            self._parts[-1].standings += part.standings
            self._parts[-1].added += part.added

    def rollback(self) -> None:
        """What the innermost part has changed is put back."""
        part = self._parts.pop()
        for share, side, standing, (vtime, ready, suspects, held) in reversed(part.standings):
            standing.vtime, standing.ready, standing.suspects, standing.held = vtime, ready, suspects, held
            if ready + suspects:
                self._active[side][share.no] = share
            else:
                self._active[side].pop(share.no, None)
        for share in part.added:
            del self._by_name[share.tenant], self._by_no[share.no]
        self._presents = part.presents

    def _save(self, share: Share, side: str, standing: Standing) -> None:
        if not self._parts or standing.saved_in == self._parts[-1].number:
            return
        part = self._parts[-1]
        was = (standing.vtime, standing.ready, standing.suspects, standing.held)
        part.standings.append((share, side, standing, was))
        standing.saved_in = part.number
