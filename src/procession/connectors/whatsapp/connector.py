"""The WhatsApp connector: its parts under the names that the stages know."""

from collections.abc import Mapping, Sequence

from procession.connectors.known import check_known
from procession.connectors.once import OncePerVersion
from procession.connectors.whatsapp import media
from procession.connectors.whatsapp.actions import ACTIONS, terms_of
from procession.connectors.whatsapp.bounds import check_payload
from procession.connectors.whatsapp.parse import parse_body
from procession.connectors.whatsapp.perform import send
from procession.connectors.whatsapp.routes import Routes, read_routes
from procession.connectors.whatsapp.settings import ChannelSettings, read_settings
from procession.connectors.whatsapp.shape import shape_effect
from procession.connectors.whatsapp.verify import shake_hands, verify_signature
from procession.core.effect import Repeatability, Terms
from procession.core.errors import Misconfigured
from procession.core.ids import EndpointName
from procession.core.pace import Pace
from procession.core.verdict import Uncertain, Verdict
from procession.ports.connector import Answer, Call, Delivery, FileCall, Parsed, Shaped, Whom
from procession.ports.directory import Channel, Endpoint, Setting
from procession.ports.files import File
from procession.ports.wire import WirePort


class WhatsAppConnector:
    """Inbound: Meta's webhooks. Outbound: messages through Graph."""

    name = "whatsapp"

    def __init__(self) -> None:
        self._settings = OncePerVersion[Channel, ChannelSettings](
            lambda channel: (channel.tenant, channel.name), lambda channel: read_settings(channel.settings)
        )
        self._routes: dict[EndpointName, tuple[Sequence[Channel], Routes]] = {}

    def check_endpoint(self, settings: Mapping[str, Setting]) -> None:
        check_known("endpoint", self.name, settings, ())

    def check_channel(self, settings: Mapping[str, Setting]) -> None:
        read_settings(settings)
        for action in ACTIONS:
            terms_of(settings, action)

    def verify(self, endpoint: Endpoint, secrets: Sequence[bytes], delivery: Delivery) -> str | None:  # noqa: ARG002 (the port's)
        return verify_signature(secrets, delivery)

    def handshake(self, endpoint: Endpoint, tokens: Mapping[str, bytes], delivery: Delivery) -> Answer | None:  # noqa: ARG002
        return shake_hands(tokens, delivery)

    def parse(self, endpoint: Endpoint, channels: Sequence[Channel], delivery: Delivery) -> Parsed:
        return parse_body(self._routes_of(endpoint, channels), delivery)

    def _routes_of(self, endpoint: Endpoint, channels: Sequence[Channel]) -> Routes:
        """Read once for each version of the endpoint's channels: one app of Meta's may serve a thousand of them."""
        kept = self._routes.get(endpoint.name)
        if kept is not None and kept[0] is channels:
            return kept[1]
        routes = read_routes(channels)
        self._routes[endpoint.name] = (channels, routes)
        return routes

    def actions(self) -> Mapping[str, Repeatability]:
        return ACTIONS

    def shape(self, channel: Channel, whom: Whom, action: str | None, value: object) -> Shaped:
        return shape_effect(channel, whom, action, value)

    def terms(self, settings: Mapping[str, Setting], action: str) -> Terms:
        return terms_of(settings, action)

    def check_payload(self, action: str, payload: bytes) -> None:
        check_payload(action, payload)

    def pace(self, channel: Channel) -> Pace | None:
        try:
            return self._settings.of(channel).pace
        except Misconfigured:
            # `perform` says so, and halts the channel.
            return None

    async def perform(self, call: Call, wire: WirePort) -> Verdict:
        return await send(call, wire)

    async def upload(self, call: FileCall, file: File, wire: WirePort) -> str:
        return await media.upload(call, file, wire)

    async def download(self, call: FileCall, file_id: str, wire: WirePort) -> bytes:
        return await media.download(call, file_id, wire)

    async def probe(self, call: Call, wire: WirePort) -> Verdict:  # noqa: ARG002 (the port's signature)
        return Uncertain(reason="WhatsApp cannot be asked what it has taken; only a status can tell")
