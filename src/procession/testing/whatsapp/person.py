"""Somebody who talks with one number: two names at the provider, of which not both are always shown."""

from dataclasses import dataclass, field
from enum import StrEnum

from procession.testing.whatsapp.handset import Handset
from procession.testing.whatsapp.number import Number


class Shows(StrEnum):
    """Which of a person's names webhooks carry: the phone number (`from`, `wa_id`), the business-scoped id, or both."""

    BOTH = "both"
    ID_ONLY = "id_only"
    """Somebody with a username."""
    PHONE_LATER = "phone_later"
    PHONE_UNTIL = "phone_until"
    ID_LATER = "id_later"
    EITHER_UNTIL = "either_until"
    """Once the one, once the other, later both: at first nobody can know that it is one person."""


LATER = 3
"""The text from which on `later` is, and `until` was."""


@dataclass(slots=True, kw_only=True)
class Person:
    number: Number
    label: str
    """What everything of this person is called in texts: one of a kind over all tenants, and tells the tenant."""
    phone: str
    user_id: str
    shows: Shows = Shows.BOTH
    username: str | None = None
    coming: set[str] = field(default_factory=set[str])
    """Names that are taken already, and not told to everybody yet."""
    former: set[str] = field(default_factory=set[str])
    """Names that were given up. Sends to them still arrive: they may have been on their way."""
    typed: int = 0
    heard_at: float | None = None
    handset: Handset = field(default_factory=Handset)

    @property
    def shown_phone(self) -> str | None:
        match self.shows:
            case Shows.ID_ONLY:
                return None
            case Shows.PHONE_LATER:
                return self.phone if self.typed >= LATER else None
            case Shows.PHONE_UNTIL:
                return self.phone if self.typed < LATER else None
            case Shows.EITHER_UNTIL:
                return self.phone if self.typed >= LATER or self.typed % 2 else None
            case Shows.BOTH | Shows.ID_LATER:
                return self.phone

    @property
    def shown_id(self) -> str | None:
        match self.shows:
            case Shows.ID_LATER:
                return self.user_id if self.typed >= LATER else None
            case Shows.EITHER_UNTIL:
                return self.user_id if self.typed >= LATER or not self.typed % 2 else None
            case _:
                return self.user_id

    def is_called(self, name: str) -> bool:
        return name in (self.phone, self.user_id) or name in self.former or name in self.coming

    def move(self, phone: str, user_id: str) -> None:
        """A new phone number; the business-scoped id is made anew with it."""
        self.former |= {self.phone, self.user_id}
        self.phone, self.user_id = phone, user_id
