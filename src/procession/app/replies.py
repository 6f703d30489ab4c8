"""What a handler's reply is made of: the channel's action, the payload, and the channel's terms as they are now."""

from collections.abc import Callable, Mapping
from typing import Final

from procession.app.seen import SeenDirectory
from procession.core.effect import Repeatability, Terms
from procession.core.errors import BadRequest, TurnMisused
from procession.core.ids import ChannelName, TenantId
from procession.core.limits import EFFECT_BYTES_MAX
from procession.ports.connector import Outbound
from procession.ports.directory import Channel, Setting
from procession.ports.replies import Asked
from procession.runtime import document

Shape = Callable[[str, object], tuple[str, object]]
"""How a connector answers whoever a lane's key names: from key and value to action and document."""
ReadTerms = Callable[[Mapping[str, Setting], Repeatability], Terms]


def http_reply(lane_key: str, value: object) -> tuple[str, object]:
    """A document goes as it is; a text says whom it is for, since the receiver could not know otherwise."""
    return "http", {"reply": value, "to": lane_key} if isinstance(value, str) else value


class ChannelReplies:
    """Implements `ports.replies.Replies` over the newest directory."""

    def __init__(
        self,
        directory: SeenDirectory,
        connectors: Mapping[str, Outbound],
        shapes: Mapping[str, Shape],
        read_terms: ReadTerms,
    ) -> None:
        self._directory = directory
        self._connectors = connectors
        self._shapes = shapes
        self._read_terms = read_terms
        self._terms: dict[tuple[TenantId, ChannelName, str], tuple[Channel, Terms]] = {}

    def ask(self, tenant: TenantId, channel: ChannelName, lane_key: str, action: str | None, value: object) -> Asked:
        found = self._directory.newest.channels.get((tenant, channel))
        connector = None if found is None else self._connectors.get(found.connector)
        if found is None or connector is None:
            raise BadRequest(f"tenant {tenant} has no channel {channel!r} to send through; {self._known(tenant)}")
        if action is None:
            action, value = self._reply(found, lane_key, value)
        elif action not in connector.actions():
            known = ", ".join(repr(own) for own in connector.actions())
            raise BadRequest(f"channel {channel!r} has no action {action!r}; a {found.connector} channel has: {known}")
        payload = value if isinstance(value, bytes) else _encoded(action, value)
        connector.check_payload(action, payload)
        return Asked(action=action, payload=payload, terms=self._terms_of(found, connector, action))

    def _reply(self, channel: Channel, lane_key: str, value: object) -> tuple[str, object]:
        shape = self._shapes.get(channel.connector)
        if shape is None:
            raise BadRequest(f"a {channel.connector} channel cannot be replied to: name an action, turn.send(…)")
        return shape(lane_key, value)

    def _terms_of(self, channel: Channel, connector: Outbound, action: str) -> Terms:
        key = (channel.tenant, channel.name, action)
        kept = self._terms.get(key)
        if kept is None or kept[0] is not channel:
            kept = self._terms[key] = channel, self._read_terms(channel.settings, connector.actions()[action])
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
