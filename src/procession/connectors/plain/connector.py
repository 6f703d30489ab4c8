"""The plain connector: its parts under the names that the stages know."""

from collections.abc import Mapping, Sequence

from procession.connectors.fields import (
    FIELD_SETTINGS,
    Fields,
    Routes,
    elements_path,
    parse_fields,
    read_fields,
    read_routes,
)
from procession.connectors.known import check_known
from procession.connectors.once import OncePerVersion
from procession.connectors.plain.actions import ACTIONS, HTTP, SEND_SETTINGS, check_payload, timeout_of
from procession.connectors.plain.perform import post
from procession.connectors.plain.verify import SCHEME_SETTINGS, Scheme, read_scheme, verify_hmac
from procession.connectors.pointer import place
from procession.connectors.terms import SEND_TERMS, read_terms
from procession.core.effect import Repeatability, Terms
from procession.core.ids import EndpointName
from procession.core.pace import Pace
from procession.core.verdict import Uncertain, Verdict
from procession.ports.clock import Clock
from procession.ports.connector import Answer, Call, Delivery, Parsed, Shaped, Whom
from procession.ports.directory import Channel, Endpoint, Setting
from procession.ports.wire import WirePort

ENDPOINT_SETTINGS = SCHEME_SETTINGS | {"elements", "account"}
CHANNEL_SETTINGS = (FIELD_SETTINGS - {"elements", "account"}) | SEND_SETTINGS | SEND_TERMS


class PlainConnector:
    """Inbound: any JSON webhook signed with an HMAC in a header. Outbound: `http`."""

    name = "plain"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._fields = OncePerVersion[Channel, Fields](
            lambda channel: (channel.tenant, channel.name), self.read_channel
        )
        self._routes: dict[EndpointName, tuple[Endpoint, Sequence[Channel], Routes]] = {}
        self._schemes = OncePerVersion[Endpoint, Scheme](
            lambda endpoint: endpoint.name, lambda endpoint: read_scheme(endpoint.settings)
        )

    def check_endpoint(self, settings: Mapping[str, Setting]) -> None:
        check_known("endpoint", self.name, settings, ENDPOINT_SETTINGS)
        read_scheme(settings)
        elements_path(settings)
        if "account" in settings:
            place("account", settings["account"])

    def check_channel(self, settings: Mapping[str, Setting]) -> None:
        check_known("channel", self.name, settings, CHANNEL_SETTINGS)
        read_fields(settings)
        check_sending(settings)

    def verify(self, endpoint: Endpoint, secrets: Sequence[bytes], delivery: Delivery) -> str | None:
        return verify_hmac(self._schemes.of(endpoint), secrets, delivery)

    def parse(self, endpoint: Endpoint, channels: Sequence[Channel], delivery: Delivery) -> Parsed:
        return parse_fields(self._routes_of(endpoint, channels), delivery, self._fields.of)

    def _routes_of(self, endpoint: Endpoint, channels: Sequence[Channel]) -> Routes:
        """Read once for each version of the endpoint and of its channels: an endpoint may have a thousand of them."""
        kept = self._routes.get(endpoint.name)
        if kept is not None and kept[0] is endpoint and kept[1] is channels:
            return kept[2]
        routes = read_routes(endpoint.settings, channels)
        self._routes[endpoint.name] = (endpoint, channels, routes)
        return routes

    def read_channel(self, channel: Channel) -> Fields:
        return read_fields(channel.settings)

    def handshake(
        self,
        endpoint: Endpoint,  # noqa: ARG002 (the port's signature)
        tokens: Mapping[str, bytes],  # noqa: ARG002
        delivery: Delivery,  # noqa: ARG002
    ) -> Answer | None:
        return None

    def actions(self) -> Mapping[str, Repeatability]:
        return ACTIONS

    def shape(self, channel: Channel, whom: Whom, action: str | None, value: object) -> Shaped:  # noqa: ARG002 (the port's)
        if action is not None:
            return Shaped(action=action, value=value)
        # A document goes as it is; a text says whom it is for, since the receiver could not know otherwise.
        return Shaped(action=HTTP, value={"reply": value, "to": whom.lane_key} if isinstance(value, str) else value)

    def terms(self, settings: Mapping[str, Setting], action: str) -> Terms:
        return read_terms(settings, ACTIONS[action])

    def check_payload(self, action: str, payload: bytes) -> None:
        check_payload(action, payload)

    def pace(self, channel: Channel) -> Pace | None:  # noqa: ARG002 (the port's signature)
        return None

    async def perform(self, call: Call, wire: WirePort) -> Verdict:
        return await post(call, wire, self._clock)

    async def probe(self, call: Call, wire: WirePort) -> Verdict:  # noqa: ARG002 (the port's signature)
        return Uncertain(reason="a plain channel cannot be asked what it has taken")


def check_sending(settings: Mapping[str, Setting]) -> None:
    timeout_of(settings)
    for repeatability in ACTIONS.values():
        read_terms(settings, repeatability)
