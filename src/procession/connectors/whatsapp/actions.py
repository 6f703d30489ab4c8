"""What a WhatsApp channel can do, and how each of it is sent."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from procession.connectors.terms import read_terms
from procession.core.effect import DoubtPolicy, Gate, Receipt, RefusedPolicy, Repeatability, Terms
from procession.ports.directory import Setting

READ: Final = "read"
TYPING: Final = "typing"
REACTION: Final = "reaction"
TEMPLATE: Final = "template"
RAW: Final = "raw"
MEDIA: Final = ("image", "video", "audio", "document", "sticker")

HARMLESS: Final = frozenset({READ, TYPING})
"""A repeat does nothing more, and nobody waits for it."""
_SPEAKING: Final = ("text", TEMPLATE, *MEDIA, "buttons", "list", "cta_url", REACTION, "location", "contacts", RAW)
ACTIONS: Final[Mapping[str, Repeatability]] = {
    # UNSAFE: Graph knows no key by which it could drop a repeat.
    **dict.fromkeys(_SPEAKING, Repeatability.UNSAFE),
    **dict.fromkeys(sorted(HARMLESS), Repeatability.KEYED),
}

WINDOW: Final = timedelta(hours=24)
"""Since the person last wrote: after it only a template may be sent."""
_GATE: Final = Gate(receipt=Receipt.DELIVERED, wait_max=timedelta(seconds=5), unshown=timedelta(seconds=0.5))
"""On the handset two may change places unless the first was delivered; but a phone that is off must not stop a
conversation for long, nor a channel whose statuses nobody has subscribed to."""
_NO_GATE: Final = Gate(receipt=Receipt.ACCEPTED, wait_max=timedelta(0), gap=timedelta(0))
_DEFAULTS: Final = Terms(gate=_GATE)
_WORTH: Final[Mapping[str, timedelta]] = {TYPING: timedelta(seconds=25), READ: timedelta(minutes=5)}
"""After so long it would say something that is not so any more."""


def terms_of(settings: Mapping[str, Setting], action: str) -> Terms:
    """`Misconfigured`, if a setting is wrong."""
    terms = replace(read_terms(settings, ACTIONS[action], _DEFAULTS), window=WINDOW if needs_window(action) else None)
    if action == REACTION:
        # Only `sent` is ever reported of a reaction.
        return replace(terms, gate=_NO_GATE)
    if action in HARMLESS:
        return replace(
            terms,
            gate=_NO_GATE,
            doubt=DoubtPolicy.SKIP,
            doubt_wait=timedelta(0),
            on_refused=RefusedPolicy.CONTINUE,
            tries_max=2,
            answer_within=min(terms.answer_within, _WORTH[action]),
        )
    return terms


def needs_window(action: str) -> bool:
    """RAW: what it holds decides, when it is asked for; afterwards Graph does."""
    return action not in HARMLESS and action not in (TEMPLATE, RAW)
