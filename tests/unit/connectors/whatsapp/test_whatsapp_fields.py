"""What comes in other fields than messages: echoes of the phone app, histories, and the account's own news."""

import json
from collections.abc import Mapping
from datetime import timedelta

import pytest

from procession.core.lane import PauseDraft
from procession.ports.connector import Arrival
from tests.unit.connectors.whatsapp.meta import (
    PHONE,
    SENT_AT,
    WABA,
    body,
    change,
    channel,
    entry,
    message,
    of_messages,
    parsed,
    value,
)

RECEIVER = "4917611111111"


def echo(**more: object) -> dict[str, object]:
    return {**message(wamid="wamid.E"), "from": "4930111", "to": RECEIVER, **more}


def echoed(fields: dict[str, object], pause: int = 3600) -> Arrival:
    found = parsed(body(entry(change(value(message_echoes=[fields]), "smb_message_echoes"))), channel(echo_pause=pause))
    assert found.unreadable == ()
    (arrival,) = found.arrivals
    return arrival


def test_an_echo_is_of_the_receivers_lane_and_pauses_it() -> None:
    found = echoed(echo())

    assert (found.kind, found.lane_key, found.aliases) == ("whatsapp.echo", RECEIVER, (RECEIVER,))
    assert (found.occurred_at, found.hears) == (SENT_AT, False)
    assert found.pause == PauseDraft(
        duration=timedelta(hours=1), keep_effects=False, reason="somebody answers on the phone"
    )


def test_how_long_it_pauses_is_the_channels_and_may_be_not_at_all() -> None:
    paused = echoed(echo(), 60).pause

    assert paused is not None
    assert paused.duration == timedelta(minutes=1)
    assert echoed(echo(), 0).pause is None


def test_an_echo_is_never_taken_for_a_message_of_the_same_id() -> None:
    (arrived,) = parsed(of_messages(message(wamid="wamid.E"))).arrivals

    assert echoed(echo()).provider_id == "echo:wamid.E" != arrived.provider_id


def test_an_echo_without_a_receiver_is_unreadable() -> None:
    found = parsed(body(entry(change(value(message_echoes=[message()]), "smb_message_echoes"))))

    assert (found.arrivals, len(found.unreadable)) == ((), 1)


def history(*threads: Mapping[str, object], order: int = 1) -> bytes:
    chunk = {"metadata": {"phase": 0, "chunk_order": order, "progress": 50}, "threads": list(threads)}
    return body(entry(change(value(history=[chunk]), "history")))


def test_a_history_becomes_an_event_for_each_thread_that_opens_no_window() -> None:
    threads = [{"id": PHONE, "messages": [message()]}, {"id": RECEIVER, "messages": [message(), message()]}]

    found = parsed(history(*threads)).arrivals

    assert [arrival.lane_key for arrival in found] == [PHONE, RECEIVER]
    assert {arrival.kind for arrival in found} == {"whatsapp.history"}
    assert not any(arrival.hears for arrival in found)
    # With a time of months ago ingress would take it for a replay.
    assert [arrival.occurred_at for arrival in found] == [None, None]
    assert json.loads(found[1].payload)["procession"]["chunk"]["progress"] == 50


def test_chunks_of_one_thread_are_different_events_and_a_redelivery_is_the_same() -> None:
    thread = {"id": PHONE, "messages": [message()]}

    first, again, second = (parsed(history(thread, order=n)).arrivals[0] for n in (1, 1, 2))

    assert first.provider_id == again.provider_id != second.provider_id


def test_a_history_that_was_declined_is_told_in_the_accounts_lane() -> None:
    raw = body(entry(change(value(history=[{"errors": [{"code": 2593109}]}]), "history")))

    (found,) = parsed(raw).arrivals

    assert (found.kind, found.lane_key, found.aliases) == ("whatsapp.history", "account", ())


def test_media_of_a_history_are_its_senders_and_still_history() -> None:
    raw = body(entry(change(value(messages=[message("image", image={"id": "1"})]), "history")))

    (found,) = parsed(raw).arrivals

    assert (found.kind, found.lane_key, found.hears) == ("whatsapp.history", PHONE, False)
    assert found.provider_id.startswith("history:")


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("account_update", "whatsapp.account_update"),
        ("phone_number_quality_update", "whatsapp.phone_number_quality_update"),
        ("message_template_status_update", "whatsapp.message_template_status_update"),
        ("user_preferences", "whatsapp.user_preferences"),
        ("smb_app_state_sync", "whatsapp.smb_app_state_sync"),
        ("calls", "whatsapp.calls"),
        ("Odd Field", "whatsapp.other"),
        ("", "whatsapp.other"),
        ("x" * 200, "whatsapp.other"),
    ],
)
def test_any_other_field_is_one_event_of_the_accounts_lane(field: str, kind: str) -> None:
    (found,) = parsed(body(entry(change({"event": "x", "list": [1, 2]}, field))), channel(waba=WABA)).arrivals

    assert (found.kind, found.lane_key, found.aliases, found.hears) == (kind, "account", (), False)
    assert json.loads(found.payload)["event"] == "x"


def test_the_same_news_at_another_time_is_another_event() -> None:
    """Quality falls, rises and falls again in the very same words."""
    first, again, later = (
        parsed(body(entry(change({"event": "FLAGGED"}, "account_update"), time=at)), channel(waba=WABA)).arrivals[0]
        for at in (1, 1, 2)
    )

    assert first.provider_id == again.provider_id != later.provider_id


def test_errors_of_a_value_are_told_in_the_accounts_lane() -> None:
    raw = body(entry(change(value(errors=[{"code": 131000}, {"code": 130429}]))))

    found = parsed(raw).arrivals

    assert [(arrival.kind, arrival.lane_key) for arrival in found] == [("whatsapp.errors", "account")] * 2
    assert found[0].provider_id != found[1].provider_id
