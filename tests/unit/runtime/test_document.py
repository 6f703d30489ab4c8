"""What is kept comes back as it was, or is refused with the path to what would not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.core.errors import TurnMisused
from procession.runtime.document import decode, decode_step, encode, encode_step, read

_texts = st.text(st.characters(exclude_categories=["Cs"]))
_documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner) | st.dictionaries(_texts, inner),
)


@given(_documents)
def test_a_document_comes_back_as_it_was(value: object) -> None:
    assert decode(encode(value, "it", 1 << 20)) == value


@given(st.binary() | _documents)
def test_a_step_may_be_bytes_or_a_document_and_stays_what_it_is(value: object) -> None:
    back = decode_step(encode_step(value, "it", 1 << 20))

    assert back == value
    assert isinstance(back, bytes) is isinstance(value, bytes)


def _nested(depth: int) -> list[object]:
    inner: list[object] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"a": [1, {"b": float("inf")}]}, r"it\['a'\]\[1\]\['b'\] is inf"),
        ({"a": {1: 2}}, r"it\['a'\] has the key 1; .* write '1'"),
        ({"when": object()}, r"it\['when'\] is a object"),
        ({"a": {1, 2}}, r"it\['a'\] is a set"),
        (2**63, "more than 64 bits"),
        ("\ud800", "half of a surrogate pair"),
        (_nested(80), "nested deeper than 64"),
        ("x" * 100, "is 102 bytes of JSON; at most 50 are kept"),
    ],
)
def test_what_would_not_come_back_is_refused_with_its_path(value: object, told: str) -> None:
    with pytest.raises(TurnMisused, match=told):
        encode(value, "it", 50 if isinstance(value, str) else 1 << 20)


@pytest.mark.parametrize(
    ("raw", "value"), [(b'{"a":1}', {"a": 1}), (b'"\\ud800"', "\ud800"), (b"[1e999]", [float("inf")])]
)
def test_what_others_send_is_read_leniently(raw: bytes, value: object) -> None:
    assert read(raw) == value


@pytest.mark.parametrize("raw", [b"", b"\xff", b"{", b"[" * 100_000])
def test_what_is_no_json_raises_what_a_caller_expects(raw: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        read(raw)
