"""What Graph's `error.code` says about a send. The HTTP status says little: throttling comes as 400, a missing
permission as 500; titles change. So the code decides, and nothing else.

A row is what becomes of the effect, whose sends wait, for how long, and our words for it: Graph's own may quote the
receiver's number, and what is kept here is read by operators and ends up in logs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from procession.core.verdict import Scope


class Says(StrEnum):
    PAIR = "pair"
    """Too many to this person: not taken; this conversation waits 1, 4, 16, … seconds."""
    LATER = "later"
    """Not taken; whatever `scope` names waits."""
    UNCLEAR = "unclear"
    """It may have been taken."""
    HALT = "halt"
    """Not taken, and nothing of `scope` will be until somebody acts."""
    NEVER = "never"
    """Not taken, and another try would fare no better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    says: Says
    words: str
    scope: Scope = Scope.CONVERSATION
    after: timedelta = timedelta(0)


def _never(words: str) -> Code:
    return Code(says=Says.NEVER, words=words)


def _unclear(words: str) -> Code:
    return Code(says=Says.UNCLEAR, words=words)


def _later(words: str, scope: Scope, after: timedelta) -> Code:
    return Code(says=Says.LATER, words=words, scope=scope, after=after)


def _halt(words: str, scope: Scope = Scope.TENANT) -> Code:
    return Code(says=Says.HALT, words=words, scope=scope)


_CREDENTIAL: Final = "the token is not valid (any more): give the channel a new one"
_PERMISSION: Final = "the token lacks a permission (whatsapp_business_messaging)"
_SETUP: Final = "the phone number is not set up"
_TEMPLATE: Final = "the template does not fit what was sent"
_OVERLOADED: Final = "WhatsApp is not available for the moment"

CODES: Final[Mapping[int, Code]] = {
    # Limits: known not to be taken.
    130429: _later("this number sends too much", Scope.CHANNEL, timedelta(seconds=5)),
    131056: Code(says=Says.PAIR, words="too many to this person in a short time"),
    4: _later("the app calls Graph too often", Scope.TENANT, timedelta(minutes=10)),
    80007: _later("the account calls Graph too often", Scope.TENANT, timedelta(minutes=10)),
    131057: _later("the account is under maintenance", Scope.CHANNEL, timedelta(minutes=2)),
    2494100: _later("the number is being upgraded", Scope.CHANNEL, timedelta(minutes=2)),
    # In doubt: Meta itself does not say whether it went on.
    1: _unclear("an unknown error, possibly of WhatsApp's servers"),
    2: _unclear(_OVERLOADED),
    131000: _unclear("something went wrong at WhatsApp"),
    131016: _unclear(_OVERLOADED),
    133004: _unclear(_OVERLOADED),
    # The credential.
    0: _halt(_CREDENTIAL),
    190: _halt(_CREDENTIAL),
    3: _halt(_PERMISSION),
    10: _halt(_PERMISSION),
    **{code: _halt(_PERMISSION) for code in range(200, 300)},
    131005: _halt(_PERMISSION),
    # The account, and the number. What is one number's own leaves the tenant's other numbers alone.
    368: _halt("the account is blocked for a breach of policy"),
    131031: _halt("the account is locked"),
    131042: _halt("the account has an unpaid bill, or no way to pay"),
    131037: _halt("the display name is not approved", Scope.CHANNEL),
    131045: _halt("the number is not registered", Scope.CHANNEL),
    **{code: _halt(_SETUP, Scope.CHANNEL) for code in (133000, 133005, 133006, 133008, 133009, 133010, 133015, 133016)},
    131048: _halt("many have blocked or reported this number: sending on makes it worse", Scope.CHANNEL),
    # Policy, for this one. 130497 is about the receiver's country: whoever writes from one must not stop a tenant.
    130497: _never("the account may not write to the receiver's country"),
    131047: _never("more than 24 hours since the receiver last wrote: only a template may be sent"),
    131049: _never("Meta chose not to deliver it, so that people get less marketing: not again within 24 hours"),
    131050: _never("the receiver wants no marketing of this account"),
    131064: _never("the limit is reached, since templates broke the rules: no template for now"),
    132015: _never("the template is paused, since people did not like it"),
    132016: _never("the template is disabled for good, since people did not like it"),
    132068: _never("the flow is blocked"),
    132069: _never("the flow is throttled: ten an hour"),
    # The receiver.
    130472: _never("the receiver is part of an experiment of Meta's"),
    131021: _never("the receiver is the sender"),
    131026: _never("it cannot be delivered: no WhatsApp there, an old one, or its terms not accepted"),
    131030: _never("the receiver is not on the list of this test number"),
    131062: _never("this cannot be sent to a business-scoped id: a phone number is needed"),
    131063: _never("marketing cannot be sent through this API"),
    137000: _never("the receiver's identity has changed, and has to be confirmed"),
    # What was sent.
    33: _never("the phone number does not exist (any more)"),
    100: _never("a parameter is wrong, or not allowed for this account"),
    131008: _never("a parameter is missing"),
    131009: _never("a parameter has a wrong value"),
    131051: _never("this kind of message is not supported"),
    131052: _never("the media cannot be fetched"),
    131053: _never("the media cannot be uploaded"),
    135000: _never("the message is not well-formed"),
    **{code: _never(_TEMPLATE) for code in (132000, 132005, 132007, 132008, 132012)},
    132001: _never("there is no such template in this language"),
    2388019: _never("the account has as many templates as it may have"),
}


def words_of(code: int) -> str:
    """For an operator; a code that is not in the table speaks for itself."""
    known = CODES.get(code)
    return "a code that is not in the table" if known is None else known.words
