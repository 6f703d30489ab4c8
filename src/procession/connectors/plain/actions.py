"""What a plain channel can do: POST the payload to the channel's URL, so that repeats are dropped there."""

from collections.abc import Mapping
from typing import Final

from procession.core.effect import Repeatability
from procession.core.errors import BadRequest, Misconfigured
from procession.core.limits import EFFECT_BYTES_MAX
from procession.ports.directory import Setting

HTTP: Final = "http"
ACTIONS: Final[Mapping[str, Repeatability]] = {HTTP: Repeatability.KEYED}
"""KEYED: the effect's id goes along as `webhook-id`, by which a receiver of Standard Webhooks drops repeats."""

SEND_SETTINGS: Final = frozenset({"url", "timeout"})
SECONDS_MAX: Final = 60.0


def check_payload(action: str, payload: bytes) -> None:
    if action not in ACTIONS:
        raise BadRequest(f"a plain channel has no action {action!r}; it has: {', '.join(ACTIONS)}")
    if len(payload) > EFFECT_BYTES_MAX:
        raise BadRequest(f"the payload has {len(payload)} bytes; at most {EFFECT_BYTES_MAX} can be sent")


def timeout_of(settings: Mapping[str, Setting]) -> float:
    seconds = settings.get("timeout", 15.0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= SECONDS_MAX:
        raise Misconfigured(f"timeout = {seconds!r}: it must be seconds, up to {SECONDS_MAX:.0f}")
    return float(seconds)
