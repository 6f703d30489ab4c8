"""Fairness where several processes claim: what is ready and held is asked for at each claim, and how far each tenant
has come is each process's own.

Each process shares what *it* claims by weight, so all of them together do. The bound of a tenant (C3) is over all
processes: who claims for such a tenant locks its row until he has committed.
"""

from collections.abc import Callable, Iterable
from typing import Any

from procession.storage.ledger.lane import SENDS, TURNS
from procession.storage.ledger.shares import Share, Shares, Standing
from procession.storage.rows import Rows

_READY = {TURNS: "claim.who_has_ready_turns", SENDS: "claim.who_has_ready_sends"}


class PostgresShares(Shares):
    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows = rows
        self._counted = False

    def use(self, rows: Rows) -> None:
        """There is a new connection."""
        self._rows = rows

    def rollback_all(self) -> None:
        """Whatever a transaction changed here is put back."""
        while self._parts:
            self.rollback()

    # --- tenants, of which other processes may have made some ---

    def find(self, tenant: str) -> Share | None:
        found = super().find(tenant)
        return found or self._read("book.find_tenant", tenant)

    def __getitem__(self, no: int) -> Share:
        found = self._by_no.get(no) or self._read("book.find_tenant_numbered", no)
        assert found is not None, f"there is no tenant {no}"
        return found

    def meet(self, tenants: Iterable[str]) -> None:
        """Those that nobody knows are made, in one order, and not in the transaction that names them first: else two
        such would wait for one another.
        """
        unknown = sorted(tenant for tenant in tenants if tenant not in self._by_name)
        if unknown:
            self._rows.execute("book.insert_tenants", (unknown,))

    def made(self, row: tuple[Any, ...]) -> Share:
        """By this transaction: if that is rolled back, there is no such tenant."""
        share = self._share(row)
        self.add(share)
        return share

    def know(self, no: int, tenant: str) -> None:
        if no not in self._by_no:
            self._keep(Share(no, tenant))

    def _read(self, statement: str, key: str | int) -> Share | None:
        row = self._rows.execute(statement, (key,)).fetchone()
        if row is None:
            return None
        share = self._share(row)
        self._keep(share)
        return share

    @staticmethod
    def _share(row: tuple[Any, ...]) -> Share:
        no, tenant, weight, lanes_max, pool, active = row
        share = Share(no, tenant)
        share.weight, share.lanes_max, share.pool, share.active = weight, lanes_max, pool, bool(active)
        return share

    def _keep(self, share: Share) -> None:
        """Whatever becomes of the transaction: others have made it."""
        self._by_name[share.tenant] = share
        self._by_no[share.no] = share

    # --- lanes ---

    def moved(self, no: int, side: str, before: tuple[str, bool], after: tuple[str, bool]) -> None:
        """Nothing is counted here: others count too."""

    def pick(
        self, side: str, pools: frozenset[str], lanes_max: int, ready: Callable[[Share, Standing], int]
    ) -> list[Share]:
        if not self._counted:
            self._look(side, lanes_max)
        self._counted = False
        return super().pick(side, pools, lanes_max, ready)

    def most(self, side: str, pools: frozenset[str], of: Callable[[Share, Standing], int]) -> int:
        self._look(side, 1)
        self._counted = True  # whoever asks this, picks next
        return super().most(side, pools, of)

    def may_keep(self, no: int) -> bool:
        share = self[no]
        if share.lanes_max is not None:
            share.turns.held = self._held([no]).get(no, 0)
        return super().may_keep(no)

    def _look(self, side: str, lanes_max: int) -> None:
        ready: dict[int, int] = dict(self._rows.execute(_READY[side], (lanes_max,)).fetchall())
        suspects: dict[int, int] = {}
        if side == TURNS:
            suspects = dict(self._rows.execute("claim.who_has_suspects").fetchall())
        for no in ready.keys() | suspects.keys():
            self._count_one(side, self[no], ready.get(no, 0), suspects.get(no, 0))
        for no in [no for no in self._active[side] if no not in ready and no not in suspects]:
            self._count_one(side, self[no], 0, 0)
        if side == TURNS:
            self._count_held([no for no in self._active[side] if self[no].lanes_max is not None])

    def _count_one(self, side: str, share: Share, ready: int, suspects: int) -> None:
        standing = self._standing(share, side)
        self._save(share, side, standing)
        standing.ready, standing.suspects = ready, suspects
        if ready + suspects == 0:
            self._active[side].pop(share.no, None)
        elif share.no not in self._active[side]:
            standing.vtime = max(standing.vtime, self._presents.get((side, share.pool), 0.0))
            self._active[side][share.no] = share

    def _count_held(self, bounded: list[int]) -> None:
        if not bounded:
            return
        ours = {no for (no,) in self._rows.execute("claim.hold_shares", (sorted(bounded),)).fetchall()}
        held = self._held(sorted(ours))
        for no in bounded:
            if no in ours:
                self[no].turns.held = held.get(no, 0)
            else:
                # Another claims for it at this moment: it has its turn when he is done.
                self._count_one(TURNS, self[no], 0, 0)

    def _held(self, tenants: Iterable[int]) -> dict[int, int]:
        return dict(self._rows.execute("claim.held_lanes", (list(tenants),)).fetchall())
