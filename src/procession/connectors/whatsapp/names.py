"""The names that a person or a group has: what leads to a conversation.

A phone number is digits, as in `wa_id`. A business-scoped id (BSUID) is a country, a dot, and letters and digits; that
of a group of portfolios has ENT in between. Any of them may be missing, and both change when somebody changes the
phone. What a value is, is told by its form: providers have been seen to put the one into the field of the other.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from procession.connectors.whatsapp.settings import digits_of
from procession.core.limits import LANE_KEY_CHARS_MAX

GROUP: Final = "group:"
_PHONE: Final = re.compile(r"[1-9][0-9]{4,19}", re.ASCII)
"""With its country: none of them begins with a nought, and 0171 is somebody in each country."""
_SCOPED: Final = re.compile(r"[A-Z]{2}\.[0-9A-Za-z._-]{1,160}", re.ASCII)
_OF_PORTFOLIOS: Final = re.compile(r"[A-Z]{2}\.ENT\.", re.ASCII)
_OWN_FIELDS: Final = ("from", "from_user_id", "from_parent_user_id")
CONTACT_FIELDS: Final = ("wa_id", "user_id", "parent_user_id")
_NAMESAKES_MAX: Final = 8
"""Contacts of one name that are looked at: a person is told once in a delivery, or once for each change."""


def name_of(value: object) -> str | None:
    """A person's name in its one form; None: it is none."""
    if not isinstance(value, str):
        return None
    if _SCOPED.fullmatch(value):
        return value
    digits = value.removeprefix("+")
    return digits if _PHONE.fullmatch(digits) else None


def group_of(value: object) -> str | None:
    if not isinstance(value, str) or not value or not value.isprintable():
        return None
    return f"{GROUP}{value}" if len(value) + len(GROUP) <= LANE_KEY_CHARS_MAX else None


def names_in(fields: Mapping[str, object], places: tuple[str, ...]) -> tuple[str, ...]:
    """Phone number first, then the person's own id, then that of a group of portfolios; each once."""
    found = {name: None for place in places if (name := name_of(fields.get(place))) is not None}
    return tuple(sorted(found, key=rank))


def sender_of(message: Mapping[str, object]) -> tuple[str, ...]:
    return names_in(message, _OWN_FIELDS)


def rank(name: str) -> int:
    """By which name somebody is best written to: the lower, the better."""
    if is_phone(name):
        return 0
    return 2 if _OF_PORTFOLIOS.match(name) else 1


def is_phone(name: str) -> bool:
    return _PHONE.fullmatch(name) is not None


def is_group(name: str) -> bool:
    return name.startswith(GROUP)


def key_as_name(key: str) -> str | None:
    """A conversation's key as somebody writes it (`+49 171 …`), in its one form; None: it is nobody's."""
    if is_group(key):
        return group_of(key.removeprefix(GROUP))
    return name_of(key) or name_of(digits_of(key))


class ContactBook:
    """The contacts of a delivery, each by its names: found without a look at all of them for each message."""

    def __init__(self, contacts: Sequence[tuple[str, ...]]) -> None:
        self._contacts = contacts
        self._by_name: dict[str, list[int]] = {}
        for at, names in enumerate(contacts):
            for name in names:
                places = self._by_name.setdefault(name, [])
                if len(places) < _NAMESAKES_MAX:
                    places.append(at)

    def find(self, names: tuple[str, ...], *, sole: bool) -> int | None:
        """Which of them belongs to whoever has these names: it shares one, and contradicts none.

        Never by its place in the list alone; only where a message names nobody, and is the only one with the only
        contact.
        """
        if not names:
            return 0 if sole and len(self._contacts) == 1 else None
        ranks = {rank(name): name for name in names}
        sharing = sorted({at for name in names for at in self._by_name.get(name, ())})
        for at in sharing:
            if all(ranks.get(rank(name), name) == name for name in self._contacts[at]):
                return at
        return None
