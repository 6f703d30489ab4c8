"""How a JSON webhook becomes events: which element, which id, which lane, which kind, which order; set per channel.

elements     = "/items"          # a list: each element is an event. Without it the whole body is one.
account      = "/account"        # on an endpoint with several channels: which of them
id           = "/id"             # what the source calls it; dedup goes by it
lane         = "/customer/id"    # the subject whose events are played in order
kind         = "/type"           # or "=order.changed", or "header:x-topic"
text         = "/text"           # what a person wrote (flush words are looked for in it)
time         = "/created_at"     # seconds since 1970, or RFC 3339
order        = "/version"        # resequencing: with order_by, order_window, order_stale, order_first
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from procession.connectors.json_body import NotJson, parts_at, read_json
from procession.connectors.pointer import Place, is_said_twice, place
from procession.core.errors import Misconfigured
from procession.core.event import Order, Ordering, Stale
from procession.core.limits import DEPTH_MAX, ELEMENTS_MAX, KIND_CHARS_MAX, LANE_KEY_CHARS_MAX
from procession.ports.connector import Arrival, Delivery, Parsed, Unreadable
from procession.ports.directory import Channel, Setting

FIELD_SETTINGS: Final = frozenset(
    {"elements", "account", "id", "lane", "kind", "text", "time", "order", "order_by", "order_window", "order_stale"}
    | {"order_first"}
)
_WINDOW_DEFAULT: Final = timedelta(seconds=5)
_INT64: Final = 2**63
"""The number that follows an event's has to fit into a store's column, too."""
E = TypeVar("E", Ordering, Stale)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRule:
    place: Place
    by: Ordering
    window: timedelta
    stale: Stale
    first: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The settings of one channel, read."""

    id: Place
    lane: Place
    kind: Place
    text: Place | None
    time: Place | None
    order: OrderRule | None
    routing: tuple[tuple[str, ...], ...]
    """The paths that decide where it goes: none of their names may be there twice."""


def read_fields(settings: Mapping[str, Setting], *, id_default: str | None = None) -> Fields:
    """`Misconfigured`, if a setting is missing or wrong."""

    def optional(name: str) -> Place | None:
        return place(name, settings[name]) if name in settings else None

    own_id, lane = place("id", settings.get("id", id_default)), place("lane", settings.get("lane"))
    kind, order = place("kind", settings.get("kind")), _order_rule(settings)
    deciding = (own_id, lane, kind, None if order is None else order.place)
    return Fields(
        id=own_id,
        lane=lane,
        kind=kind,
        text=optional("text"),
        time=optional("time"),
        order=order,
        routing=tuple(place.path for place in deciding if place is not None and place.path),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """The settings of one endpoint, read, with the channels that are bound to it."""

    elements: tuple[str, ...] | None
    account: Place | None
    live: tuple[Channel, ...]
    by_account: Mapping[str, Channel]


def read_routes(settings: Mapping[str, Setting], channels: Sequence[Channel]) -> Routes:
    live = tuple(channel for channel in channels if channel.active)
    return Routes(
        elements=elements_path(settings),
        account=place("account", settings["account"]) if "account" in settings else None,
        live=live,
        # Of several the first: `apply` refuses a second one.
        by_account={channel.account: channel for channel in reversed(live)},
    )


def elements_path(settings: Mapping[str, Setting]) -> tuple[str, ...] | None:
    """Where the list of elements is; None: the body is the one element."""
    if "elements" not in settings:
        return None
    if settings["elements"] == "/":
        return ()
    found = place("elements", settings["elements"])
    if not found.path:
        raise Misconfigured("elements must be a JSON pointer to a list ('/' if the body itself is the list)")
    return found.path


def _order_rule(settings: Mapping[str, Setting]) -> OrderRule | None:
    if "order" not in settings:
        return None
    by = one_of("order_by", settings.get("order_by", Ordering.NUMBER), Ordering)
    first = settings.get("order_first")
    if first is not None and (not isinstance(first, int) or by is not Ordering.NUMBER):
        raise Misconfigured('order_first must be a whole number, and goes with order_by = "number" only')
    return OrderRule(
        place=place("order", settings["order"]),
        by=by,
        window=duration_of("order_window", settings.get("order_window", _WINDOW_DEFAULT.total_seconds())),
        stale=one_of("order_stale", settings.get("order_stale", Stale.LATE), Stale),
        first=first,
    )


def one_of(name: str, value: object, values: type[E]) -> E:
    try:
        return values(str(value))
    except ValueError:
        known = ", ".join(repr(str(known)) for known in values)
        raise Misconfigured(f"{name} = {value!r}: it must be one of {known}") from None


def duration_of(name: str, value: object) -> timedelta:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= timedelta(days=7).total_seconds()
    ):
        raise Misconfigured(f"{name} = {value!r}: it must be seconds, from 0 to 7 days")
    return timedelta(seconds=value)


# --- reading ---


class Unfit(Exception):
    """Part of a delivery cannot be routed; the text goes to quarantine with it."""


def parse_fields(routes: Routes, delivery: Delivery, fields_of: Callable[[Channel], Fields]) -> Parsed:
    """Whatever the body holds, it is answered: as arrivals, or unreadable with the reason."""
    path = routes.elements
    parsed = read_json(delivery.body)
    if isinstance(parsed, NotJson):
        return Parsed(unreadable=(Unreadable(reason=parsed.reason, body=delivery.body),))
    parts = (delivery.body,) if path is None else parts_at(delivery.body, path)
    if isinstance(parts, NotJson):
        return Parsed(unreadable=(Unreadable(reason=parts.reason, body=delivery.body),))
    if len(parts) > ELEMENTS_MAX:
        return Parsed(unreadable=(Unreadable(reason=f"more than {ELEMENTS_MAX} elements", body=delivery.body),))
    arrivals: list[Arrival] = []
    unreadable: list[Unreadable] = []
    for part in parts:
        try:
            element = parsed if path is None else read_json(part)
            channel = _channel_of(routes, element, part, delivery)
            arrivals.append(_arrival(channel, fields_of(channel), element, part, delivery))
        except Unfit as unfit:
            unreadable.append(Unreadable(reason=str(unfit), body=part))
    return Parsed(arrivals=tuple(arrivals), unreadable=tuple(unreadable))


def _channel_of(routes: Routes, element: object, part: bytes, delivery: Delivery) -> Channel:
    """Only among the channels that are bound to the endpoint: one tenant's source must not speak for another's."""
    account = routes.account
    if account is None:
        if len(routes.live) != 1:
            raise Unfit(f"the endpoint has {len(routes.live)} active channels and no `account` setting to choose by")
        return routes.live[0]
    if account.path and is_said_twice(part, account.path):
        raise Unfit(f"{account.text} is there twice")
    channel = routes.by_account.get(text_of("account", account.find(element, delivery)))
    if channel is None:
        raise Unfit("no active channel of this endpoint has the account that the element names")
    return channel


def _arrival(channel: Channel, fields: Fields, element: object, part: bytes, delivery: Delivery) -> Arrival:
    for path in fields.routing:
        if is_said_twice(part, path):
            raise Unfit(f"/{'/'.join(path)} is there twice")
    text = fields.text.find(element, delivery) if fields.text is not None else None
    return Arrival(
        tenant=channel.tenant,
        channel=channel.name,
        provider_id=text_of("id", fields.id.find(element, delivery)),
        lane_key=text_of("lane", fields.lane.find(element, delivery)),
        kind=text_of("kind", fields.kind.find(element, delivery), KIND_CHARS_MAX),
        payload=part,
        occurred_at=moment_of(fields.time.find(element, delivery)) if fields.time is not None else None,
        order=_order(fields.order, element, delivery) if fields.order is not None else None,
        text=text if isinstance(text, str) else None,
    )


def text_of(name: str, value: object, chars_max: int = LANE_KEY_CHARS_MAX) -> str:
    """An id or a name: text or a whole number, short, printable."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unfit(f"{name} is {'missing' if value is None else 'neither text nor a whole number'}")
    text = str(value)
    if not text or len(text) > chars_max:
        raise Unfit(f"{name} is {'empty' if not text else f'longer than {chars_max} characters'}")
    if not text.isprintable():
        raise Unfit(f"{name} has characters that cannot be printed")
    return text


def moment_of(value: object) -> datetime | None:
    """A source's timestamp; None where it makes no sense: it is shown and sorted by, never trusted."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float) or (isinstance(value, str) and value.isdecimal()):
            return datetime.fromtimestamp(float(value), UTC)
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _order(rule: OrderRule, element: object, delivery: Delivery) -> Order:
    value = rule.place.find(element, delivery)
    key: int | None = None
    if rule.by is Ordering.TIME:
        moment = moment_of(value)
        key = None if moment is None else int(moment.timestamp() * 1_000_000)
    elif isinstance(value, int) and not isinstance(value, bool):
        key = value
    elif isinstance(value, str) and value.isdecimal() and len(value) < DEPTH_MAX:
        key = int(value)
    if key is None or not -_INT64 < key < _INT64 - 1:
        raise Unfit(f"order ({rule.place.text}) is not a {'time' if rule.by is Ordering.TIME else 'whole number'}")
    return Order(by=rule.by, key=key, window=rule.window, stale=rule.stale, first=rule.first)
