"""Which token is whose, and until when: S13."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from procession.testing.simulation.whatsapp.shape import WhatsAppShape
from procession.testing.simulation.whatsapp.tally import Tally, Wrong

_GRACE: Final = timedelta(seconds=20)
"""A token that was opened before it was replaced may still be on its way."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Token:
    text: str
    replaced_at: datetime | None = None


class Tokens:
    def __init__(self, tally: Tally, shape: WhatsAppShape) -> None:
        self._tally = tally
        self._tokens = {number.id: [_Token(text=number.token)] for number in shape.numbers}

    def replaced(self, account: str, text: str, at: datetime) -> None:
        """The vault has another one now."""
        self._tokens[account][-1].replaced_at = at
        self._tokens[account].append(_Token(text=text))

    def check(self, account: str, text: str, at: datetime) -> None:
        found = next((each for each in self._tokens[account] if each.text == text), None)
        if found is None:
            text = f"number {account} is sent from with a token that is not its own"
            self._tally.wrong(Wrong.CROSS_TENANT, "S13", text)
        elif found.replaced_at is not None and at > found.replaced_at + _GRACE:
            text = f"number {account} is sent from with a token that was replaced at {found.replaced_at:%T}"
            self._tally.fail("S13", text)
