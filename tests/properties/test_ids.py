"""Derived ids: the same again, and different for whatever differs, also where joined texts would be equal."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.core.ids import (
    ChannelName,
    EndpointName,
    EventId,
    LaneId,
    TenantId,
    effect_id,
    event_id,
    lane_id,
    quarantine_id,
    reminder_event_id,
)

# Every text that a provider may send: lone surrogates, NUL, digits and colons (the separators) among them.
texts = st.text(st.characters() | st.sampled_from("\ud800\udfff\x000123456789:"), max_size=12)
parts = st.tuples(texts, texts, texts)
THREE: dict[str, Callable[[str, str, str], str]] = {
    "lane": lambda a, b, c: lane_id(TenantId(a), ChannelName(b), c),
    "event": lambda a, b, c: event_id(TenantId(a), ChannelName(b), c),
    "effect": lambda a, b, c: effect_id(TenantId(a), EventId(b), c),
    "reminder": lambda a, b, c: reminder_event_id(TenantId(a), LaneId(b), c, 1),
}
each_kind = pytest.mark.parametrize("derive", THREE.values(), ids=THREE.keys())


@each_kind
@given(one=parts, other=parts)
def test_ids_are_equal_just_when_all_their_parts_are(
    derive: Callable[[str, str, str], str], one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert (derive(*one) == derive(*other)) == (one == other)


@each_kind
@given(whole=texts, at=st.integers(0, 12), to=st.integers(0, 12))
def test_where_one_part_ends_matters(derive: Callable[[str, str, str], str], whole: str, at: int, to: int) -> None:
    """("ab", "c") and ("a", "bc") would be one text if they were joined."""
    one = (whole[:at], whole[at:], "")
    other = (whole[:to], whole[to:], "")

    assert (derive(*one) == derive(*other)) == (one == other)


@given(one=parts)
def test_ids_of_different_kinds_differ(one: tuple[str, str, str]) -> None:
    a, b, c = one
    lane, event, effect = (THREE[kind](a, b, c) for kind in ("lane", "event", "effect"))

    assert len({lane, event, effect}) == 3
    assert all(name.isascii() and len(name) == 35 for name in (lane, event, effect))


@given(one=st.binary(max_size=64), other=st.binary(max_size=64))
def test_bytes_in_quarantine_are_one_row_just_when_they_are_the_same(one: bytes, other: bytes) -> None:
    hooks = EndpointName("hooks")

    assert (quarantine_id(hooks, one) == quarantine_id(hooks, other)) == (one == other)
    assert quarantine_id(hooks, one) != quarantine_id(EndpointName("other"), one)


@given(one=parts, first=st.integers(0, 1000), second=st.integers(0, 1000))
def test_a_reminder_that_is_set_again_is_another_event(one: tuple[str, str, str], first: int, second: int) -> None:
    a, b, c = one
    ids = [reminder_event_id(TenantId(a), LaneId(b), c, generation) for generation in (first, second)]

    assert (ids[0] == ids[1]) == (first == second)
