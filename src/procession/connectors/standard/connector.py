"""The Standard Webhooks connector, inbound. What it sends goes as the plain connector's `http` does."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from procession.connectors.fields import Fields, duration_of, elements_path, read_fields
from procession.connectors.known import check_known
from procession.connectors.plain.connector import CHANNEL_SETTINGS, PlainConnector, check_sending
from procession.connectors.pointer import place
from procession.connectors.standard.verify import verify_standard
from procession.ports.connector import Delivery
from procession.ports.directory import Channel, Endpoint, Setting

TOLERANCE = timedelta(minutes=5)
ENDPOINT_SETTINGS = frozenset({"elements", "account", "tolerance"})


class StandardConnector(PlainConnector):
    """`id` is the `webhook-id` unless a channel says otherwise."""

    name = "standard"

    def check_endpoint(self, settings: Mapping[str, Setting]) -> None:
        check_known("endpoint", self.name, settings, ENDPOINT_SETTINGS)
        elements_path(settings)
        _tolerance(settings)
        if "account" in settings:
            place("account", settings["account"])

    def check_channel(self, settings: Mapping[str, Setting]) -> None:
        check_known("channel", self.name, settings, CHANNEL_SETTINGS)
        _read(settings)
        check_sending(settings)

    def verify(self, endpoint: Endpoint, secrets: Sequence[bytes], delivery: Delivery) -> str | None:
        return verify_standard(secrets, delivery, _tolerance(endpoint.settings))

    def read_channel(self, channel: Channel) -> Fields:
        return _read(channel.settings)


def _read(settings: Mapping[str, Setting]) -> Fields:
    return read_fields(settings, id_default="header:webhook-id")


def _tolerance(settings: Mapping[str, Setting]) -> timedelta:
    return duration_of("tolerance", settings.get("tolerance", TOLERANCE.total_seconds()))
