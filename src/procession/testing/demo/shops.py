"""Who takes part in the demo: four restaurants, each a tenant with its own number, and the people who write to them."""

from collections.abc import Mapping
from typing import Final

from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.rules import Rules
from procession.testing.whatsapp.shape import Shape

FLOODS: Final = "pizzeria"
"""The one that everybody writes to at once."""
TONE: Final = {"bistro": "#57c7ff", "sushi": "#7ee0c0", "tapas": "#ffb86c", FLOODS: "#c4a1ff"}
"""The shops, each with its colour."""
_NAMES: Final = (
    *("ana", "ben", "cleo", "dora", "emil", "farid", "gina", "hugo", "ines", "jun"),
    *("kofi", "lena", "mia", "nils", "olga", "pia", "quin", "rosa", "sami", "tom"),
)
PACE: Final = 6.0
"""So many of WhatsApp's seconds pass in one of ours: nobody wants to watch people think for a minute."""
SHAPE: Final = Shape(
    numbers=len(TONE),
    tenants=tuple(TONE),
    people=len(_NAMES),
    names=_NAMES,
    bursts=None,
    burst_max=3,
    rest_s=(12.0, 60.0),
    gap_s=(2.0, 9.0),
    # Who changes the number waits until that is known; a flood waits for nothing.
    moves=0.0,
)
RULES: Final = Rules(pair_every_s=None, answer_s=(0.3, 1.2))
"""Three bubbles for each text, all day, are more than WhatsApp lets one pair exchange in the long run."""
FAULTS: Final = Faults(
    error_after=0.01, cut_after=0.015, garbage_after=0.005, status_doubled=0.05, status_reversed=0.05
)
"""Calls that were taken, and whose answers do not say so; statuses that come twice, or in the wrong order."""
CHANNEL: Final[Mapping[str, str | float]] = {
    "pair_every": 0,
    "messages_per_second": round(80 * PACE),
    "doubt_policy": "park",
    "doubt_wait": 4,
    "timeout": 3,
}
