"""A row of procession_outlet: what is known of the sends of a channel, or of a tenant, as a whole."""

from typing import Any, Final

from procession.storage.instants import FOREVER

WHOLE_TENANT: Final = ""
"""In place of a channel."""


class Outlet:
    """The columns in the order of `load_outlet`; a plain class, see `Lane`."""

    __slots__ = ("channel", "held_from", "held_reason", "held_until", "line", "shown", "tenant")

    tenant: int
    channel: str
    shown: int
    line: int
    held_from: int | None
    held_until: int | None
    held_reason: str

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.tenant, self.channel, self.shown, self.line, self.held_from, self.held_until, self.held_reason = row

    @property
    def row(self) -> tuple[Any, ...]:
        return self.tenant, self.channel, self.shown, self.line, self.held_from, self.held_until, self.held_reason

    @property
    def hold_end(self) -> int:
        """0: it was never held back."""
        if self.held_from is None:
            return 0
        return FOREVER if self.held_until is None else self.held_until


def new_outlet(tenant: int, channel: str) -> Outlet:
    return Outlet((tenant, channel, 0, 0, None, None, ""))
