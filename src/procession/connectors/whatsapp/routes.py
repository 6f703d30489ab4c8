"""Whose an element is: the channel whose number it came to, among those that are bound to the endpoint.

One app of Meta's may deliver for all tenants, and its secret signs for all of them: a signature proves the app, not the
tenant. So what counts is what the signed body says: the phone number's id; only where it says none, the account (WABA).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from procession.connectors.fields import Unfit
from procession.connectors.whatsapp.settings import ChannelSettings, digits_of, read_settings
from procession.connectors.whatsapp.wrapper import WHOLE, Element
from procession.core.errors import Misconfigured
from procession.ports.directory import Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A channel with its settings, read."""

    channel: Channel
    settings: ChannelSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    by_account: Mapping[str, Route]
    by_waba: Mapping[str, Route]
    """Accounts of a single channel only."""
    by_display: Mapping[str, Route]

    def of(self, element: Element) -> Route:
        """`Unfit`, if it is nobody's here."""
        said = _number(element)
        if said is not None:
            found = self.by_account.get(said) if isinstance(said, str) and said else None
            # A number that we do not know is not another number of the same account: the answer would come from a
            # stranger. A channel that names no number takes what its account gets.
            found = found or self._unnumbered(element)
            if found is None:
                raise Unfit("no active channel of this endpoint has the phone_number_id that it came to")
            return found
        found = self._displayed(element) or self._of_account(element)
        if found is None:
            raise Unfit("it names no phone_number_id, and its account has not exactly one active channel here")
        return found

    def _unnumbered(self, element: Element) -> Route | None:
        found = self._of_account(element)
        return found if found is not None and not found.channel.account else None

    def _displayed(self, element: Element) -> Route | None:
        said = element.fields.get("display_phone_number")
        return self.by_display.get(digits_of(said)) if isinstance(said, str) else None

    def _of_account(self, element: Element) -> Route | None:
        named = element.fields.get("waba_info") if element.part == WHOLE else None
        told = named.get("waba_id") if isinstance(named, dict) else None
        for waba in (told, element.around.waba):
            if isinstance(waba, str) and waba in self.by_waba:
                return self.by_waba[waba]
        return None


def read_routes(channels: Sequence[Channel]) -> Routes:
    routes = [route for channel in channels if channel.active and (route := _route(channel)) is not None]
    return Routes(
        # Of several of one account the first: `apply` refuses a second one.
        by_account={route.channel.account: route for route in reversed(routes) if route.channel.account},
        by_waba=_single(routes, [route.settings.waba for route in routes]),
        by_display=_single(routes, [route.settings.display for route in routes]),
    )


def _route(channel: Channel) -> Route | None:
    try:
        return Route(channel=channel, settings=read_settings(channel.settings))
    except Misconfigured:
        # `apply` refuses such a channel; one that is there all the same gets nothing, and what comes for it is kept.
        return None


def _single(routes: Sequence[Route], keys: Sequence[str]) -> Mapping[str, Route]:
    times = Counter(keys)
    return {key: route for key, route in zip(keys, routes, strict=True) if key and times[key] == 1}


def _number(element: Element) -> object | None:
    """The phone number's id as it is said; None: it is not said."""
    metadata = element.around.metadata
    if metadata is None:
        return None
    return metadata.read.get("phone_number_id") if isinstance(metadata.read, dict) else None
