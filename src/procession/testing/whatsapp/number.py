"""A tenant's phone number at the provider."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    tenant: str
    id: str
    """`phone_number_id`: the account of its channel."""
    waba: str
    display: str
    token: str = field(repr=False)
