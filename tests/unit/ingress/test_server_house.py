"""Who is inside, by address, and how much of their bodies is held."""

from datetime import timedelta

import pytest

from procession.ingress.house import House, bucket
from procession.ingress.http_limits import HttpLimits


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::2%eth1"),
    ],
)
def test_addresses_of_one_host_count_together(one: str, other: str) -> None:
    assert bucket(one) == bucket(other)


@pytest.mark.parametrize(
    ("one", "other"), [("192.0.2.1", "192.0.2.2"), ("2001:db8:1:2::1", "2001:db8:1:3::1"), ("::1", "127.0.0.1")]
)
def test_addresses_of_different_hosts_count_apart(one: str, other: str) -> None:
    assert bucket(one) != bucket(other)


def test_a_guest_that_leaves_makes_room_for_another() -> None:
    house: House[str] = House(HttpLimits(connections_max=2, connections_per_ip_max=1), lambda: None)

    assert house.admit("a", "192.0.2.1")
    assert not house.admit("b", "192.0.2.1")
    house.leave("a")
    house.leave("a")
    assert house.admit("b", "192.0.2.1")
    assert house.admit("c", "192.0.2.2")
    assert not house.admit("d", "192.0.2.3")
    assert (len(house), house.turned_away) == (2, 2)


def test_a_guest_that_was_turned_away_cannot_leave() -> None:
    house: House[str] = House(HttpLimits(connections_per_ip_max=1), lambda: None)
    house.admit("a", "192.0.2.1")
    house.admit("b", "192.0.2.1")

    house.leave("b")

    assert not house.admit("c", "192.0.2.1")


def test_a_closing_house_admits_nobody() -> None:
    house: House[str] = House(HttpLimits(), lambda: None)

    house.is_closing = True

    assert not house.admit("a", "192.0.2.1")


def test_the_last_guest_to_leave_is_noticed() -> None:
    noticed: list[int] = []
    house: House[str] = House(HttpLimits(), lambda: noticed.append(len(house)))
    house.admit("a", "192.0.2.1")
    house.admit("b", "192.0.2.1")

    house.leave("a")
    assert not noticed
    house.leave("b")
    assert noticed == [0]


def test_guests_may_leave_while_they_are_looked_at() -> None:
    house: House[int] = House(HttpLimits(), lambda: None)
    for guest in range(5):
        house.admit(guest, "192.0.2.1")

    for guest in house:
        house.leave(guest)

    assert not len(house)


def test_room_is_lent_up_to_the_bound_and_comes_back() -> None:
    house: House[str] = House(HttpLimits(bodies_bytes_max=10), lambda: None)

    assert house.take_room(10)
    assert not house.take_room(1)
    house.give_back(4)
    assert house.take_room(4)
    assert not house.take_room(1)


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="connections_max"):
        HttpLimits(connections_max=0)
    with pytest.raises(ValueError, match="head_ttl"):
        HttpLimits(head_ttl=timedelta(0))
