"""An element goes to the channel that the signed body names, and only among those of the endpoint."""

from dataclasses import replace

import pytest

from procession.ports.directory import Channel
from tests.unit.connectors.whatsapp.meta import (
    NUMBER,
    WABA,
    body,
    change,
    channel,
    entry,
    message,
    of_messages,
    parsed,
    status,
    value,
)

OTHER = "106540352242999"
QUALITY = {"display_phone_number": "+49 30 111", "event": "FLAGGED"}


def two() -> tuple[Channel, Channel]:
    return channel("acme"), channel("bolt", OTHER)


def test_a_body_that_mixes_tenants_is_split() -> None:
    raw = body(
        entry(
            change(value(OTHER, messages=[message(wamid="wamid.1")])),
            change(value(messages=[message(wamid="wamid.2")], statuses=[status()])),
        ),
        entry(change(value(OTHER, statuses=[status()]))),
        entry(change(value("777", messages=[message(wamid="wamid.3")]))),
    )

    found = parsed(raw, *two())

    assert [(each.tenant, each.provider_id) for each in found.arrivals] == [("bolt", "wamid.1"), ("acme", "wamid.2")]
    assert [each.tenant for each in found.sightings] == ["acme", "bolt"]
    assert [each.reason for each in found.unreadable] == [
        "no active channel of this endpoint has the phone_number_id that it came to"
    ]


def test_an_inactive_channel_gets_nothing() -> None:
    found = parsed(of_messages(message()), replace(channel(waba=WABA), active=False))

    assert (found.arrivals, len(found.unreadable)) == ((), 1)


def test_what_is_nobodys_is_kept_as_a_body_that_reads_the_same_once_it_is_somebodys() -> None:
    raw = body(
        entry(
            change(value(messages=[message()], contacts=[{"wa_id": "4915112345678", "user_id": "DE.1"}])),
            change(value(statuses=[status("failed", errors=[{"code": 1}])], errors=[{"code": 131000}])),
            change(value(message_echoes=[message(to="4917611111111")]), "smb_message_echoes"),
            change({"history": [{"metadata": {"phase": 0}, "threads": [{"id": "491761", "messages": []}]}]}, "history"),
            change(QUALITY, "phone_number_quality_update"),
            time=1893229200,
        )
    )
    homeless = parsed(raw, channel("bolt", OTHER))
    assert (homeless.arrivals, homeless.sightings, len(homeless.unreadable)) == ((), (), 6)

    at_home = parsed(raw, channel(waba=WABA))
    again = [parsed(part.body, channel(waba=WABA)) for part in homeless.unreadable]

    assert tuple(arrival for each in again for arrival in each.arrivals) == at_home.arrivals
    assert tuple(sighting for each in again for sighting in each.sightings) == at_home.sightings
    assert [each.unreadable for each in again] == [()] * 6
    assert len(at_home.arrivals) == 5


def test_a_payload_that_was_set_aside_reads_as_it_did() -> None:
    """Ingress keeps the payload of what is too old, or whose tenant rests: an operator may route it later."""
    raw = body(
        entry(
            change(value(messages=[message(), {**message(wamid="wamid.2"), "x": {}}], contacts=[{"wa_id": "4917"}])),
            change({"history": [{"metadata": {"phase": 0}, "threads": [{"id": "491761", "messages": []}]}]}, "history"),
            change(QUALITY, "phone_number_quality_update"),
            change({}, "account_update"),
            change({"history": [{"errors": [{"code": 2593109}]}]}, "history"),
        )
    ).replace(b"}", b" }")

    at_home = parsed(raw, channel(waba=WABA))

    assert len(at_home.arrivals) == 6
    for arrival in at_home.arrivals:
        assert parsed(arrival.payload, channel(waba=WABA)).arrivals == (arrival,)


# --- without a phone_number_id ---


def test_an_event_of_the_account_goes_to_the_only_channel_that_has_it() -> None:
    raw = body(entry(change({"event": "APPROVED"}, "message_template_status_update")))

    (found,) = parsed(raw, channel(waba=WABA), channel("bolt", OTHER)).arrivals

    assert (found.tenant, found.kind, found.lane_key) == ("acme", "whatsapp.message_template_status_update", "account")


def test_an_account_of_two_channels_is_not_guessed() -> None:
    raw = body(entry(change({"event": "APPROVED"}, "message_template_status_update")))

    found = parsed(raw, channel(waba=WABA), channel("acme", OTHER, "second", waba=WABA))

    assert (found.arrivals, len(found.unreadable)) == ((), 1)


def test_a_displayed_number_chooses_among_them() -> None:
    raw = body(entry(change(QUALITY, "phone_number_quality_update")))
    second = channel("acme", OTHER, "second", waba=WABA, display_phone_number="+49 (30) 111")

    (found,) = parsed(raw, channel(waba=WABA), second).arrivals

    assert found.channel == "second"


def test_a_partners_account_is_named_inside() -> None:
    raw = body(entry(change({"event": "PARTNER_ADDED", "waba_info": {"waba_id": WABA}}, "account_update"), waba="1"))

    assert len(parsed(raw, channel(waba=WABA)).arrivals) == 1


def test_a_message_for_another_number_of_the_account_is_not_ours() -> None:
    """The answer would come from a number that the person has never written to."""
    found = parsed(of_messages(message(), number=OTHER), channel(waba=WABA))

    assert (found.arrivals, len(found.unreadable)) == ((), 1)


def test_a_channel_without_a_number_takes_what_its_account_gets() -> None:
    assert len(parsed(of_messages(message(), number=OTHER), channel(account="", waba=WABA)).arrivals) == 1


@pytest.mark.parametrize("number", ["", None, 106540352242922, [NUMBER], {"a": 1}])
def test_a_number_in_any_other_form_is_no_number(number: object) -> None:
    content = {**value(messages=[message()]), "metadata": {"phone_number_id": number}}

    assert parsed(body(entry(change(content)))).arrivals == ()


def test_a_channel_whose_settings_cannot_be_read_gets_nothing_and_disturbs_nobody() -> None:
    raw = body(entry(change(value(messages=[message()])), change(value(OTHER, messages=[message()]))))

    found = parsed(raw, channel(wabba="1"), channel("bolt", OTHER))

    assert [each.tenant for each in found.arrivals] == ["bolt"]
    assert len(found.unreadable) == 1
