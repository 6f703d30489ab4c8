"""A status is outside evidence about an effect: how far it got, or that it did not.

It echoes our effect's id (`biz_opaque_callback_data`), so that also a send whose answer was lost is proven by it; and
it names the message by its `wamid`. `delivered` may be left out when somebody reads at once, and order is not
promised: the receipt only climbs.
"""

import re
from collections.abc import Mapping
from typing import Final

from procession.connectors.fields import Unfit
from procession.connectors.pointer import value_at
from procession.connectors.whatsapp.codes import words_of
from procession.connectors.whatsapp.routes import Route
from procession.core.effect import Receipt
from procession.core.event import Sighting
from procession.core.ids import EffectId
from procession.core.limits import LANE_KEY_CHARS_MAX

RECEIPTS: Final[Mapping[str, Receipt]] = {
    "sent": Receipt.SENT,
    "delivered": Receipt.DELIVERED,
    "read": Receipt.READ,
    "played": Receipt.READ,
    "failed": Receipt.ACCEPTED,
}
"""Any other word proves no more than that it was taken."""
_OURS: Final = re.compile(r"ef_[0-9a-f]{1,64}", re.ASCII)


def sighting_of(status: Mapping[str, object], route: Route) -> Sighting:
    """`Unfit`, if it names nothing that could be found again."""
    word, ref, echo = status.get("status"), status.get("id"), status.get("biz_opaque_callback_data")
    named = ref if isinstance(ref, str) and 0 < len(ref) <= LANE_KEY_CHARS_MAX and ref.isprintable() else None
    effect = EffectId(echo) if isinstance(echo, str) and _OURS.fullmatch(echo) else None
    if not isinstance(word, str) or (named is None and effect is None):
        raise Unfit("a status has no id and status")
    return Sighting(
        tenant=route.channel.tenant,
        channel=route.channel.name,
        receipt=RECEIPTS.get(word, Receipt.ACCEPTED),
        effect=effect,
        ref=named,
        failed=word == "failed",
        detail=_detail(status) if word == "failed" else "",
    )


def _detail(status: Mapping[str, object]) -> str:
    """Our own words for the code: the provider's may name the receiver."""
    code = value_at(status, ("errors", "0", "code"))
    if isinstance(code, bool) or not isinstance(code, int):
        return "failed, without a code"
    return f"{code}: {words_of(code)}"
