"""Fairness between tenants, and that it follows the transaction."""

from collections import Counter

from procession.storage.ledger.lane import HELD, IDLE, READY, SENDS, TURNS
from procession.storage.ledger.shares import Share, Shares, Standing

ALL = frozenset({""})


def shares_of(*weights: int) -> Shares:
    shares = Shares()
    for no, weight in enumerate(weights, 1):
        shares.add(Share(no, f"t{no}"))
        shares.configure(no, weight=weight, lanes_max=None, pool="", active=True)
    return shares


def become(shares: Shares, no: int, phase: str, was: str = IDLE, times: int = 1, side: str = TURNS) -> None:
    for _ in range(times):
        shares.moved(no, side, (was, False), (phase, False))


def ready(_share: Share, standing: Standing) -> int:
    return standing.ready


def picked(shares: Shares, count: int, pools: frozenset[str] = ALL, side: str = TURNS) -> list[str]:
    return [share.tenant for share in shares.pick(side, pools, count, ready)]


def test_the_one_furthest_behind_is_next() -> None:
    shares = shares_of(1, 3)
    become(shares, 1, READY, times=100)
    become(shares, 2, READY, times=100)

    whose = Counter(picked(shares, 40))

    assert whose == {"t1": 10, "t2": 30}


def test_no_more_are_picked_than_are_ready() -> None:
    shares = shares_of(1, 1)
    become(shares, 1, READY, times=2)
    become(shares, 2, READY)

    assert Counter(picked(shares, 10)) == {"t1": 2, "t2": 1}


def test_a_share_counts_what_is_held_and_what_is_picked() -> None:
    shares = shares_of(1)
    shares.configure(1, weight=1, lanes_max=3, pool="", active=True)
    become(shares, 1, READY, times=5)
    become(shares, 1, HELD, was=READY)

    assert picked(shares, 10) == ["t1", "t1"]


def test_a_share_does_not_count_for_sends() -> None:
    shares = shares_of(1)
    shares.configure(1, weight=1, lanes_max=1, pool="", active=True)
    become(shares, 1, READY, times=3, side=SENDS)

    assert len(picked(shares, 10, side=SENDS)) == 3


def test_who_becomes_active_starts_at_the_present() -> None:
    shares = shares_of(1, 1)
    become(shares, 1, READY, times=200)
    picked(shares, 100)
    become(shares, 2, READY, times=100)

    assert Counter(picked(shares, 20)) == {"t1": 10, "t2": 10}


def test_a_pool_that_is_served_slowly_has_a_present_of_its_own() -> None:
    shares = shares_of(1, 1, 1)
    for no in (2, 3):
        shares.configure(no, weight=1, lanes_max=None, pool="slow", active=True)
    become(shares, 1, READY, times=1000)
    become(shares, 2, READY, times=50)
    picked(shares, 900, frozenset({""}))
    picked(shares, 5, frozenset({"slow"}))

    become(shares, 3, READY, times=50)

    assert Counter(picked(shares, 20, frozenset({"slow"}))) == {"t2": 10, "t3": 10}


def test_pools_that_are_served_together_are_compared_by_how_far_each_is_behind() -> None:
    shares = shares_of(1, 1)
    shares.configure(2, weight=1, lanes_max=None, pool="slow", active=True)
    become(shares, 1, READY, times=1000)
    become(shares, 2, READY, times=1000)
    picked(shares, 500, frozenset({""}))

    assert Counter(picked(shares, 20, frozenset({"", "slow"}))) == {"t1": 10, "t2": 10}


def test_an_inactive_tenant_is_passed_over() -> None:
    shares = shares_of(1)
    shares.configure(1, weight=1, lanes_max=None, pool="", active=False)
    become(shares, 1, READY)

    assert picked(shares, 1) == []


def test_what_a_transaction_changed_is_put_back_when_it_is_rolled_back() -> None:
    shares = shares_of(1, 1)
    become(shares, 1, READY, times=3)
    shares.begin()
    before = picked(shares, 2)
    become(shares, 1, HELD, was=READY, times=2)
    become(shares, 2, READY)
    shares.add(Share(9, "t9"))

    shares.rollback()

    assert before == ["t1", "t1"]
    assert shares.find("t9") is None
    assert shares[1].turns.vtime == 0
    assert picked(shares, 10) == ["t1", "t1", "t1"]


def test_an_inner_part_is_put_back_alone() -> None:
    shares = shares_of(1)
    shares.begin()
    become(shares, 1, READY)
    shares.begin()
    become(shares, 1, HELD, was=READY)
    shares.rollback()

    inner = shares[1].turns.ready, shares[1].turns.held
    shares.begin()
    become(shares, 1, HELD, was=READY)
    shares.commit()
    shares.rollback()

    assert inner == (1, 0)
    assert (shares[1].turns.ready, shares[1].turns.held) == (0, 0)
