"""Boxes: no nonce twice under a key, and nothing opens but what was sealed for just this place."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.app.system import SystemChance
from procession.core.ids import TenantId
from procession.ports.chance import Chance
from procession.ports.vault import SecretName
from procession.vault import WrongKey
from procession.vault.envelope import NONCE_BYTES, fingerprint, open_box, seal
from tests.unit.vault.strongbox import ACME, TOKEN, Strongbox

SEALINGS = 100_000
KEY, OTHER_KEY = b"k" * 32, b"o" * 32


class Constant:
    """A planted chance: always the same nonce. Its keys are good, so that nothing else gives it away."""

    def __init__(self) -> None:
        self._chance = SystemChance()

    def uniform(self, low: float, high: float) -> float:
        return self._chance.uniform(low, high)

    def token(self, size: int) -> bytes:
        return b"\x2a" * size if size == NONCE_BYTES else self._chance.token(size)


class Repeating(Constant):
    """A planted chance that begins again after some draws, as a counter that is not durable does."""

    def __init__(self) -> None:
        super().__init__()
        self._drawn = 0

    def token(self, size: int) -> bytes:
        if size != NONCE_BYTES:
            return super().token(size)
        self._drawn += 1
        return (self._drawn % 40).to_bytes(size, "big")


def nonce_of(box: bytes) -> bytes:
    return box[9 : 9 + NONCE_BYTES]


async def nonces_drawn(chance: Chance, sealings: int) -> Counter[bytes]:
    """The nonces in the boxes that a vault stores, rotations included."""
    box = Strongbox()
    vault = box.vault(chance=chance)
    drawn: Counter[bytes] = Counter()
    for number in range(sealings):
        await vault.seal(ACME, SecretName(f"key-{number % 5}"), b"%d" % number, "tester")
        drawn[nonce_of(box.tables.secrets[ACME, SecretName(f"key-{number % 5}")].box)] += 1
    return drawn


def check_nonces(drawn: Counter[bytes]) -> None:
    repeated = [nonce for nonce, times in drawn.items() if times > 1]
    assert not repeated, f"{len(repeated)} nonces were used again: what they sealed can be read without the key"


async def test_a_vault_never_uses_a_nonce_twice() -> None:
    check_nonces(await nonces_drawn(SystemChance(), 500))


@pytest.mark.parametrize("planted", [Constant, Repeating])
async def test_a_planted_nonce_that_repeats_is_found(planted: Callable[[], Chance]) -> None:
    drawn = await nonces_drawn(planted(), 100)

    with pytest.raises(AssertionError, match="used again"):
        check_nonces(drawn)


def test_a_hundred_thousand_boxes_have_as_many_nonces() -> None:
    chance = SystemChance()

    boxes = {nonce_of(seal(KEY, chance.token(NONCE_BYTES), b"same", ("secret",))) for _ in range(SEALINGS)}

    assert len(boxes) == SEALINGS


places = st.tuples(
    st.sampled_from(["secret", "data key"]), st.text(max_size=3), st.text(max_size=3), st.text(max_size=2)
)


@given(place=places, elsewhere=places, plain=st.binary(min_size=1, max_size=50))
def test_a_box_opens_at_its_place_and_at_no_other(
    place: tuple[str, ...], elsewhere: tuple[str, ...], plain: bytes
) -> None:
    box = seal(KEY, SystemChance().token(NONCE_BYTES), plain, place)

    assert open_box(KEY, box, place) == plain
    if elsewhere != place:
        with pytest.raises(WrongKey):
            open_box(KEY, box, elsewhere)
    with pytest.raises(WrongKey):
        open_box(OTHER_KEY, box, place)


def test_parts_of_a_place_cannot_be_shifted_into_one_another() -> None:
    box = seal(KEY, SystemChance().token(NONCE_BYTES), b"plain", ("secret", "ab", "c"))

    for elsewhere in (("secret", "a", "bc"), ("secret", "abc", ""), ("secret", "ab", "c", ""), ("secretab", "c")):
        with pytest.raises(WrongKey):
            open_box(KEY, box, elsewhere)


@given(plain=st.binary(min_size=1, max_size=50), changed=st.data())
def test_a_box_that_was_changed_cut_or_grown_does_not_open(plain: bytes, changed: st.DataObject) -> None:
    place = ("secret", ACME, TOKEN, "1")
    box = seal(KEY, SystemChance().token(NONCE_BYTES), plain, place)
    at = changed.draw(st.integers(0, len(box) - 1))
    bit = changed.draw(st.integers(0, 7))

    flipped = box[:at] + bytes([box[at] ^ (1 << bit)]) + box[at + 1 :]
    for bent in (flipped, box[:at], box[at + 1 :], box + b"\x00"):
        with pytest.raises(WrongKey):
            open_box(KEY, bent, place)


@given(plain=st.binary(min_size=1, max_size=50))
def test_two_boxes_cannot_be_joined(plain: bytes) -> None:
    place = ("secret", ACME, TOKEN, "1")
    one, two = (seal(KEY, SystemChance().token(NONCE_BYTES), plain, place) for _ in range(2))

    with pytest.raises(WrongKey):
        open_box(KEY, one[:21] + two[21:], place)


async def test_no_swap_of_rows_opens() -> None:
    """Every secret's box, put into every other secret's row, with every version that there is."""
    box = Strongbox()
    vault = box.vault()
    for tenant in ("acme", "bolt"):
        for name in ("one", "two"):
            await vault.seal(TenantId(tenant), SecretName(name), f"{tenant} {name}".encode(), "tester")
    there = dict(box.tables.secrets)

    for row, own in there.items():
        for other in there.values():
            for version in (1, 2):
                box.tables.secrets[row] = replace(other, key_version=version)
                if (other, version) == (own, 1):
                    continue
                with pytest.raises(WrongKey):
                    await vault.open(*row)
        box.tables.secrets[row] = own


def test_a_fingerprint_needs_the_key() -> None:
    assert fingerprint(KEY, b"plain") != fingerprint(OTHER_KEY, b"plain")
    assert len(fingerprint(KEY, b"plain")) == 12
