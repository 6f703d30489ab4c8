"""I2 and I3: it routes to the channels that it was handed and to no others, and answers whatever a body holds."""

from dataclasses import replace

import pytest

from procession.core.errors import Misconfigured
from procession.core.limits import DEPTH_MAX, KIND_CHARS_MAX, LANE_KEY_CHARS_MAX
from procession.ports.connector import Arrival
from procession.ports.directory import Channel
from tests.conformance.connectors.harness import WORDS, Harness, Said
from tests.conformance.connectors.suite import shows

BAD = {
    "nothing": b"",
    "a blank": b" ",
    "null": b"null",
    "a number": b"7",
    "a text": b'"x"',
    "an empty list": b"[]",
    "an empty object": b"{}",
    "a list of nothings": b"[null, null]",
    "markup": b"<html>",
    "a form": b"id=1&lane=2",
    "NUL": b"\x00",
    "not UTF-8": b'{"id": "\xff"}',
    "UTF-16": '{"id": 1}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "half a surrogate pair": b'{"id": "\\ud800"}',
    "NaN": b'{"id": NaN}',
    "infinite": b'{"id": 1e999999}',
    "a long number": b'{"id": ' + b"9" * 100_000 + b"}",
    "deep": b"[" * 100_000,
    "deep and closed": b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1),
    "deep in objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "cut": b'{"id": "e1", "ent',
    "two documents": b"{}{}",
    "a path": b'{"files": {"x": {"filepath": "/etc/passwd"}}}',
    "many values": b"[" + b"1," * 700_000 + b"1]",
}


def arrivals(harness: Harness, *said: Said, channels: tuple[Channel, ...] | None = None) -> tuple[Arrival, ...]:
    handed = (harness.mine, harness.theirs) if channels is None else channels
    return harness.connector.parse(harness.endpoint, handed, harness.signed(*said)).arrivals


@shows("I3")
@pytest.mark.parametrize("what", BAD)
def test_what_is_no_event_is_kept_with_a_reason(harness: Harness, what: str) -> None:
    delivery = harness.sign(BAD[what], harness.secret)

    found = harness.connector.parse(harness.endpoint, (harness.mine, harness.theirs), delivery)

    assert (found.arrivals, found.sightings) == ((), ())
    if what != "an empty list":
        assert found.unreadable
    assert all(part.reason and part.reason.isprintable() for part in found.unreadable)


@shows("I2")
def test_an_event_goes_to_the_channel_whose_account_it_names(harness: Harness) -> None:
    (mine,) = arrivals(harness, harness.event())
    (theirs,) = arrivals(harness, harness.event(account=harness.theirs.account))

    assert (mine.tenant, mine.channel) == (harness.mine.tenant, harness.mine.name)
    assert (theirs.tenant, theirs.channel) == (harness.theirs.tenant, harness.theirs.name)


@shows("I2")
def test_an_event_of_a_channel_that_was_not_handed_over_goes_nowhere(harness: Harness) -> None:
    delivery = harness.signed(harness.event(account=harness.theirs.account))

    for channels in ((harness.mine,), (harness.mine, replace(harness.theirs, active=False)), ()):
        found = harness.connector.parse(harness.endpoint, channels, delivery)
        assert (found.arrivals, found.sightings) == ((), ())
        assert len(found.unreadable) == 1


@shows("I2", "I3")
def test_a_body_that_mixes_tenants_is_split_and_what_is_nobodys_costs_the_others_nothing(harness: Harness) -> None:
    said = (
        harness.event("e1", harness.theirs.account),
        harness.event("e2", "999999"),
        harness.event("e3"),
    )

    found = harness.connector.parse(harness.endpoint, (harness.mine, harness.theirs), harness.signed(*said))

    assert [(each.tenant, each.provider_id) for each in found.arrivals] == [
        (harness.theirs.tenant, "e1"),
        (harness.mine.tenant, "e3"),
    ]
    assert len(found.unreadable) == 1
    assert b"e2" in found.unreadable[0].body
    assert b"e1" not in found.unreadable[0].body


@shows("I3")
def test_a_redelivery_reads_the_same_however_it_is_batched(harness: Harness) -> None:
    alone = arrivals(harness, harness.event("e2"))
    again = arrivals(harness, harness.event("e2"))
    (_, batched) = arrivals(harness, harness.event("e1"), harness.event("e2"))

    assert alone == again
    assert (batched.provider_id, batched.lane_key, batched.kind) == (
        alone[0].provider_id,
        alone[0].lane_key,
        alone[0].kind,
    )


@shows("I3")
def test_what_arrives_has_names_that_a_store_can_hold(harness: Harness) -> None:
    (found,) = arrivals(harness, harness.event())

    assert 0 < len(found.lane_key) <= LANE_KEY_CHARS_MAX
    assert 0 < len(found.provider_id) <= LANE_KEY_CHARS_MAX
    assert 0 < len(found.kind) <= KIND_CHARS_MAX
    assert not found.aliases or found.lane_key in found.aliases
    assert WORDS.encode() in found.payload


@shows("I3")
def test_a_setting_that_nobody_knows_is_refused_with_the_one_that_was_meant(harness: Harness) -> None:
    with pytest.raises(Misconfigured, match="did you mean 'timeout'"):
        harness.connector.check_channel({**harness.mine.settings, "timeoutt": 1})
    with pytest.raises(Misconfigured, match="no setting 'odd'"):
        harness.connector.check_endpoint({**harness.endpoint.settings, "odd": 1})
    harness.connector.check_channel(harness.mine.settings)
    harness.connector.check_endpoint(harness.endpoint.settings)
