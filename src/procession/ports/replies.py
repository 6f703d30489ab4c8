"""What a reply means: handlers say `turn.reply("hello")`, and each connector knows which of its actions that is.

The stage that plays turns knows no connector. The application's wiring hands it one `Replies`, made of the directory's
newest snapshot and the outbound connectors.
"""

from dataclasses import dataclass
from typing import Protocol

from procession.core.effect import Terms
from procession.core.ids import ChannelName, TenantId
from procession.ports.connector import Whom


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a turn asked for, in the connector's own terms: what an effect draft is made of."""

    action: str
    payload: bytes
    terms: Terms
    aliases: tuple[str, ...] = ()


class Replies(Protocol):
    def ask(self, tenant: TenantId, channel: ChannelName, whom: Whom, action: str | None, value: object) -> Asked:
        """Say what is to be sent when a handler replies with `value` (`action` is None), or asks for `action` with it.

        Does
        E1. Without an action: the channel's own way to answer whoever `whom` is (WhatsApp: a text for a string;
            plain: the channel's `http` action).
        E2. With an action: that one. `value` is a JSON document, or the payload itself as bytes.
        E3. The terms are the channel's for this action, as they are now; they stay with the effect.

        Requires: it neither waits nor calls out; it may be called from a plain handler's thread.
        Raises: BadRequest, for a channel that is not there, an action that its connector does not perform, and a value
            that the provider could never take, or would not take now. The text says what could be asked for instead: it
            is raised into the handler.
        """
        ...
