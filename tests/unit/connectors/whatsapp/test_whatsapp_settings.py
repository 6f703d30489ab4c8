"""A channel's settings, and the terms that each action is sent on."""

from datetime import timedelta

import pytest

from procession.core.effect import DoubtPolicy, Gate, Receipt, RefusedPolicy, Repeatability
from procession.core.errors import Misconfigured
from procession.ports.directory import Setting
from tests.unit.connectors.whatsapp.meta import CONNECTOR

SPEAKING = [action for action, repeats in CONNECTOR.actions().items() if repeats is Repeatability.UNSAFE]
FREE = [action for action in SPEAKING if action not in ("template", "raw")]


def test_a_channel_needs_no_settings() -> None:
    CONNECTOR.check_channel({})
    CONNECTOR.check_endpoint({})
    CONNECTOR.check_channel({"waba": "1", "gate": "sent", "echo_pause": 0, "api_url": "http://127.0.0.1:9000"})

    assert len(SPEAKING) == 14


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("wabba", "1"),
        ("waba", 1),
        ("waba", "x"),
        ("api_url", "graph.facebook.com"),
        ("api_url", "https://graph.facebook.com?x=1"),
        ("api_url", "https://user@graph.facebook.com"),
        ("api_url", "https://graph.facebook.com\n"),
        ("api_url", 7),
        ("version", "25"),
        ("version", "v25.0/../x"),
        ("timeout", 0),
        ("timeout", 61),
        ("timeout", True),
        ("messages_per_second", 0),
        ("messages_per_second", 1.5),
        ("messages_per_second", 1001),
        ("pair_every", -1),
        ("pair_burst", 0),
        ("pair_burst", 46),
        ("echo_pause", "1h"),
        ("reorder_window", 301),
        ("display_phone_number", "my number"),
        ("gate", "arrived"),
        ("answer_within", -1),
        ("url", "https://x.example"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(name: str, value: Setting) -> None:
    with pytest.raises(Misconfigured, match=name):
        CONNECTOR.check_channel({name: value})


def test_a_misspelt_setting_is_told_the_right_one() -> None:
    with pytest.raises(Misconfigured, match="did you mean 'echo_pause'"):
        CONNECTOR.check_channel({"echo_pauze": 1})
    with pytest.raises(Misconfigured, match="has no setting 'id'"):
        CONNECTOR.check_endpoint({"id": "/id"})


@pytest.mark.parametrize("action", [action for action in SPEAKING if action != "reaction"])
def test_the_next_waits_for_delivery_but_not_for_long(action: str) -> None:
    terms = CONNECTOR.terms({}, action)

    assert terms.gate == Gate(
        receipt=Receipt.DELIVERED, wait_max=timedelta(seconds=5), gap=timedelta(0), unshown=timedelta(seconds=0.5)
    )
    assert (terms.repeatability, terms.doubt) == (Repeatability.UNSAFE, DoubtPolicy.PARK)
    assert (terms.doubt_wait, terms.answer_within) == (timedelta(seconds=60), timedelta(hours=24))


@pytest.mark.parametrize("action", ["reaction", "read", "typing"])
def test_what_is_never_reported_as_delivered_holds_nothing_back(action: str) -> None:
    gate = CONNECTOR.terms({"gate": "read", "gate_wait": 60, "gate_gap": 5}, action).gate

    assert gate == Gate(receipt=Receipt.ACCEPTED, wait_max=timedelta(0), gap=timedelta(0), unshown=None)


@pytest.mark.parametrize("action", FREE)
def test_free_form_needs_the_window(action: str) -> None:
    assert CONNECTOR.terms({}, action).window == timedelta(hours=24)


@pytest.mark.parametrize("action", ["template", "raw", "read", "typing"])
def test_templates_and_marks_do_not(action: str) -> None:
    assert CONNECTOR.terms({}, action).window is None


@pytest.mark.parametrize("action", ["read", "typing"])
def test_a_mark_never_parks_a_conversation_whatever_the_channel_says(action: str) -> None:
    terms = CONNECTOR.terms({"doubt_policy": "park", "on_refused": "park", "tries_max": 20}, action)

    assert terms.repeatability is Repeatability.KEYED
    assert (terms.doubt, terms.on_refused, terms.doubt_wait) == (
        DoubtPolicy.SKIP,
        RefusedPolicy.CONTINUE,
        timedelta(0),
    )
    assert terms.answer_within <= timedelta(minutes=5)


def test_the_settings_reach_the_terms() -> None:
    terms = CONNECTOR.terms({"gate": "accepted", "gate_wait": 1, "doubt_policy": "resend"}, "text")

    assert (terms.gate.receipt, terms.gate.wait_max, terms.doubt) == (
        Receipt.ACCEPTED,
        timedelta(seconds=1),
        DoubtPolicy.RESEND,
    )
