"""What a handler's reply is made of: the channel's action, the payload, and the channel's terms as they are now."""

from collections.abc import Mapping
from typing import Final

from procession.app.seen import SeenDirectory
from procession.core.effect import Terms
from procession.core.errors import BadRequest, TurnMisused
from procession.core.ids import ChannelName, TenantId
from procession.core.limits import EFFECT_BYTES_MAX
from procession.ports.connector import Outbound, Whom
from procession.ports.directory import Channel
from procession.ports.replies import Asked
from procession.runtime import document


class ChannelReplies:
    """Implements `ports.replies.Replies` over the newest directory."""

    def __init__(self, directory: SeenDirectory, connectors: Mapping[str, Outbound]) -> None:
        self._directory = directory
        self._connectors = connectors
        self._terms: dict[tuple[TenantId, ChannelName, str], tuple[Channel, Terms]] = {}

    def ask(self, tenant: TenantId, channel: ChannelName, whom: Whom, action: str | None, value: object) -> Asked:
        found = self._directory.newest.channels.get((tenant, channel))
        connector = None if found is None else self._connectors.get(found.connector)
        if found is None or connector is None:
            raise BadRequest(f"tenant {tenant} has no channel {channel!r} to send through; {self._known(tenant)}")
        if action is not None and action not in connector.actions():
            known = ", ".join(repr(own) for own in connector.actions())
            raise BadRequest(f"channel {channel!r} has no action {action!r}; a {found.connector} channel has: {known}")
        shaped = connector.shape(found, whom, action, value)
        payload = shaped.value if isinstance(shaped.value, bytes) else _encoded(shaped.action, shaped.value)
        connector.check_payload(shaped.action, payload)
        terms = self._terms_of(found, connector, shaped.action)
        return Asked(action=shaped.action, payload=payload, terms=terms, aliases=shaped.aliases)

    def _terms_of(self, channel: Channel, connector: Outbound, action: str) -> Terms:
        key = (channel.tenant, channel.name, action)
        kept = self._terms.get(key)
        if kept is None or kept[0] is not channel:
            kept = self._terms[key] = channel, connector.terms(channel.settings, action)
        return kept[1]

    def _known(self, tenant: TenantId) -> str:
        names = sorted(name for own, name in self._directory.newest.channels if own == tenant)
        return f"it has: {', '.join(names[:_NAMED_MAX])}" if names else "it has none: `procession apply` adds them"


_NAMED_MAX: Final = 10


def _encoded(action: str, value: object) -> bytes:
    try:
        return document.encode(value, f"what is sent by {action!r}", EFFECT_BYTES_MAX)
    except TurnMisused as misused:
        raise BadRequest(str(misused)) from None
