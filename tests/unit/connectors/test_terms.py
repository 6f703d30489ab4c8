"""A channel's settings of how its effects are to be sent."""

from datetime import timedelta

import pytest

from procession.app.system import SystemClock
from procession.connectors.plain import PlainConnector
from procession.connectors.standard import StandardConnector
from procession.connectors.terms import SEND_TERMS, read_terms
from procession.core.effect import DoubtPolicy, Gate, Receipt, RefusedPolicy, Repeatability, Terms
from procession.core.errors import Misconfigured
from procession.ports.directory import Setting

FIELDS: dict[str, Setting] = {"id": "/id", "lane": "/who", "kind": "=x"}


def test_without_settings_the_terms_are_the_contracts_own() -> None:
    assert read_terms({}, Repeatability.KEYED) == Terms(repeatability=Repeatability.KEYED)


def test_each_setting_reaches_its_term() -> None:
    settings: dict[str, Setting] = {
        "gate": "delivered",
        "gate_wait": 7,
        "gate_gap": 0.5,
        "doubt_policy": "skip",
        "doubt_wait": 30,
        "resends_max": 1,
        "on_refused": "park",
        "tries_max": 4,
        "answer_within": 3600,
    }

    terms = read_terms(settings, Repeatability.UNSAFE)

    assert settings.keys() == SEND_TERMS
    assert terms == Terms(
        repeatability=Repeatability.UNSAFE,
        gate=Gate(receipt=Receipt.DELIVERED, wait_max=timedelta(seconds=7), gap=timedelta(seconds=0.5)),
        doubt=DoubtPolicy.SKIP,
        doubt_wait=timedelta(seconds=30),
        resends_max=1,
        on_refused=RefusedPolicy.PARK,
        tries_max=4,
        answer_within=timedelta(hours=1),
    )


@pytest.mark.parametrize("connector", [PlainConnector(SystemClock()), StandardConnector(SystemClock())])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gate", "none"),
        ("gate_wait", -1),
        ("gate_gap", True),
        ("doubt_policy", "ask"),
        ("doubt_wait", "60"),
        ("resends_max", 0),
        ("on_refused", "stop"),
        ("tries_max", 1.5),
        ("answer_within", 10**9),
    ],
)
def test_a_wrong_term_is_refused_with_its_name(connector: PlainConnector, name: str, value: Setting) -> None:
    connector.check_channel(FIELDS)

    with pytest.raises(Misconfigured, match=name):
        connector.check_channel({**FIELDS, name: value})
