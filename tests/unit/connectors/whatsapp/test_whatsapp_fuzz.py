"""Bodies as nobody sends them: valid ones with parts taken out, doubled, swapped and made something else."""

import json
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.meta_bodies import SEEDS, check, elements_in

Path = tuple[str | int, ...]

NAMES = ("id", "from", "metadata", "phone_number_id", "messages", "statuses", "history", "threads", "procession", "")
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["4915112345678", "DE.1", "system", "text", "history", "messages", "106540352242999", "ef_00"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), inner),
    max_leaves=6,
)


def places(whole: object, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(whole, dict):
        for name, inner in whole.items():
            yield from places(inner, (*path, name))
    elif isinstance(whole, list):
        for at, inner in enumerate(whole):
            yield from places(inner, (*path, at))


def changed(whole: object, path: Path, how: str, new: object) -> object:
    """A copy with one place changed."""
    if not path:
        return new
    name, rest = path[0], path[1:]
    if isinstance(whole, dict):
        copy = dict(whole)
        if rest or how == "replace":
            copy[str(name)] = changed(whole[name], rest, how, new)
        elif how == "drop":
            del copy[str(name)]
        else:
            copy[f"{name}x"] = copy.pop(str(name))
        return copy
    assert isinstance(whole, list)
    assert isinstance(name, int)
    if rest or how == "replace":
        return [*whole[:name], changed(whole[name], rest, how, new), *whole[name + 1 :]]
    return [*whole[:name], *([whole[name]] * (0 if how == "drop" else 2)), *whole[name + 1 :]]


@st.composite
def bodies(draw: st.DrawFn) -> object:
    whole: object = json.loads(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 4))):
        path = draw(st.sampled_from(list(places(whole))))
        whole = changed(whole, path, draw(st.sampled_from(["replace", "drop", "other"])), draw(VALUES))
    return whole


@given(bodies(), st.booleans())
def test_every_element_of_a_changed_body_is_found_again(whole: object, spaced: bool) -> None:
    raw = json.dumps(whole, separators=(" , ", " : ") if spaced else (",", ":")).encode()

    found = check(raw)

    if not (isinstance(whole, dict) and "procession" in whole):
        assert len(found.arrivals) + len(found.sightings) + len(found.unreadable) == elements_in(whole)


@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 2_000), st.binary(max_size=6)), max_size=4))
def test_a_body_with_changed_bytes_is_answered(seed: bytes, changes: list[tuple[int, bytes]]) -> None:
    raw = bytearray(seed)
    for at, new in changes:
        raw[at % len(raw) : at % len(raw) + len(new)] = new

    found = check(bytes(raw))

    assert found.arrivals or found.sightings or found.unreadable


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(raw: bytes) -> None:
    assert check(raw).unreadable
