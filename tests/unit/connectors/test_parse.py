"""What a signed body becomes: arrivals where it can be read and routed, else kept with its reason; it never raises."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from procession.app.system import SystemClock
from procession.connectors.plain import PlainConnector
from procession.core.errors import Misconfigured
from procession.core.event import Order, Ordering, Stale
from procession.core.limits import DEPTH_MAX, LANE_KEY_CHARS_MAX
from procession.ports.connector import Parsed
from procession.ports.directory import Setting
from tests.unit.connectors.deliveries import channel, endpoint, signed

CONNECTOR = PlainConnector(SystemClock())


def parsed(body: bytes, **settings: Setting) -> Parsed:
    return CONNECTOR.parse(endpoint(), (channel(fields=settings),), signed(body))


def test_an_event_keeps_its_bytes_and_its_names() -> None:
    body = b'{ "id": 7, "lane": "order-1",  "kind": "order.changed" }'

    (arrival,) = parsed(body).arrivals

    assert (arrival.provider_id, arrival.lane_key, arrival.kind) == ("7", "order-1", "order.changed")
    assert arrival.payload == body


def test_values_are_found_by_pointer_header_or_constant() -> None:
    body = b'{"order": {"ids": ["x", "y"]}, "a/b": "slash"}'
    found = CONNECTOR.parse(
        endpoint(),
        (channel(id="/order/ids/1", lane="/a~1b", kind="header:X-Topic"),),
        signed(body, x_topic="orders/create"),
    )

    assert [(each.provider_id, each.lane_key, each.kind) for each in found.arrivals] == [
        ("y", "slash", "orders/create")
    ]
    assert parsed(b'{"id": 1, "lane": 2}', kind="=fixed").arrivals[0].kind == "fixed"


def test_elements_are_split_byte_for_byte_and_the_unreadable_ones_kept_apart() -> None:
    body = b'{"items": [{"id":1,"lane":"a","kind":"k"}, {"id":2,"lane":"a"} , {"id":3,"lane":"b","kind":"k"}]}'

    found = CONNECTOR.parse(endpoint(elements="/items"), (channel(),), signed(body))

    assert [arrival.payload for arrival in found.arrivals] == [
        b'{"id":1,"lane":"a","kind":"k"}',
        b'{"id":3,"lane":"b","kind":"k"}',
    ]
    assert [(part.body, part.reason) for part in found.unreadable] == [(b'{"id":2,"lane":"a"}', "kind is missing")]


def test_an_element_is_routed_by_the_account_it_names_and_only_to_channels_of_the_endpoint() -> None:
    channels = (channel("acme", account="1"), channel("bolt", account="2"))
    body = json.dumps(
        [{"id": n, "lane": "a", "kind": "k", "account": account} for n, account in enumerate(["2", "1", "3"])]
    ).encode()

    found = CONNECTOR.parse(endpoint(elements="/", account="/account"), channels, signed(body))

    assert [arrival.tenant for arrival in found.arrivals] == ["bolt", "acme"]
    assert len(found.unreadable) == 1


def test_an_inactive_channel_gets_nothing() -> None:
    from dataclasses import replace

    found = CONNECTOR.parse(endpoint(), (replace(channel(), active=False),), signed(b'{"id":1,"lane":2,"kind":"k"}'))

    assert found.arrivals == ()
    assert len(found.unreadable) == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"null", "id is missing"),
        (b"[]", "id is missing"),
        (b'"text"', "id is missing"),
        (b'{"id":NaN,"lane":"a","kind":"k"}', "not JSON"),
        (b'{"id":1e999,"lane":"a","kind":"k"}', "not JSON"),
        (b'{"id":' + b"9" * 5000 + b',"lane":"a","kind":"k"}', "not JSON"),
        (b'{"id":"\\ud800","lane":"a","kind":"k"}', "not JSON"),
        (b'{"id":"\xff","lane":"a","kind":"k"}', "not UTF-8"),
        (b'\xef\xbb\xbf{"id":1,"lane":"a","kind":"k"}', "not JSON"),
        ('{"id":1}'.encode("utf-16"), "not JSON"),
        (b"[" * 100_000, f"nested deeper than {DEPTH_MAX}"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, f"nested deeper than {DEPTH_MAX}"),
        (b'{"id":"a\\u0000b","lane":"a","kind":"k"}', "cannot be printed"),
        (b'{"id":"","lane":"a","kind":"k"}', "id is empty"),
        (b'{"id":true,"lane":"a","kind":"k"}', "neither text nor a whole number"),
        (b'{"id":1.5,"lane":"a","kind":"k"}', "neither text nor a whole number"),
        (b'{"id":{},"lane":"a","kind":"k"}', "neither text nor a whole number"),
        (b'{"id":"' + b"x" * (LANE_KEY_CHARS_MAX + 1) + b'","lane":"a","kind":"k"}', "longer than"),
        (b'{"id":1,"lane":"a","lane":"b","kind":"k"}', "/lane is there twice"),
        (b'{"id":1,"lane":"a","l\\u0061ne":"b","kind":"k"}', "/lane is there twice"),
    ],
)
def test_what_cannot_be_read_or_routed_is_kept_whole_with_its_reason(body: bytes, says: str) -> None:
    found = parsed(body)

    assert found.arrivals == ()
    assert [part.body for part in found.unreadable] == [body]
    assert says in found.unreadable[0].reason


def test_brackets_in_strings_are_not_nesting() -> None:
    body = b'{"id":1,"lane":"a","kind":"k","text":"' + b"[{" * 200 + b'\\"]"}'

    assert len(parsed(body).arrivals) == 1


def test_a_name_that_is_there_twice_where_nothing_is_routed_by_it_does_no_harm() -> None:
    assert len(parsed(b'{"id":1,"lane":"a","kind":"k","note":1,"note":2}').arrivals) == 1


@pytest.mark.parametrize(
    ("settings", "value", "expected"),
    [
        ({}, "17", Order(by=Ordering.NUMBER, key=17, window=timedelta(seconds=5))),
        (
            {"order_by": "version", "order_window": 0, "order_stale": "drop"},
            "3",
            Order(by=Ordering.VERSION, key=3, window=timedelta(0), stale=Stale.DROP),
        ),
        ({"order_first": 1}, '"2"', Order(by=Ordering.NUMBER, key=2, window=timedelta(seconds=5), first=1)),
        (
            {"order_by": "time"},
            '"2030-01-07T09:00:00Z"',
            Order(
                by=Ordering.TIME,
                key=int(datetime(2030, 1, 7, 9, tzinfo=UTC).timestamp() * 1e6),
                window=timedelta(seconds=5),
            ),
        ),
    ],
)
def test_the_order_of_the_source_is_read(settings: dict[str, Setting], value: str, expected: Order) -> None:
    body = f'{{"id":1,"lane":"a","kind":"k","n":{value}}}'.encode()

    assert parsed(body, order="/n", **settings).arrivals[0].order == expected


@pytest.mark.parametrize("value", ["null", '"x"', "1.5", "true", "99999999999999999999999", "9223372036854775807"])
def test_an_order_that_is_none_is_kept_aside(value: str) -> None:
    found = parsed(f'{{"id":1,"lane":"a","kind":"k","n":{value}}}'.encode(), order="/n")

    assert len(found.unreadable) == 1


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"id": "id"}, "begins with '/'"),
        ({"lnae": "/x"}, "did you mean 'lane'"),
        ({"order": "/n", "order_by": "size"}, "must be one of"),
        ({"order": "/n", "order_window": -1}, "from 0 to 7 days"),
        ({"order": "/n", "order_by": "time", "order_first": 1}, "order_first"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_a_wrong_setting_is_refused_in_words_that_teach(settings: dict[str, Setting], says: str) -> None:
    with pytest.raises(Misconfigured, match=says):
        CONNECTOR.check_channel(channel(fields=settings).settings)


def test_a_setting_that_is_missing_is_named() -> None:
    with pytest.raises(Misconfigured, match="lane must say where the value is"):
        CONNECTOR.check_channel({"id": "/id", "kind": "/kind"})
