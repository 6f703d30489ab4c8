"""A status is evidence about an effect: by our id that it echoes, by the provider's, or by both."""

import pytest

from procession.core.effect import Receipt
from procession.core.event import Sighting
from procession.core.ids import ChannelName, EffectId, TenantId
from tests.unit.connectors.whatsapp.meta import PHONE, body, change, entry, message, parsed, status, value

OURS = "ef_dff66d6f0fed4cf679c6b69fbe11d8c8"


def seen(said: dict[str, object]) -> Sighting:
    found = parsed(body(entry(change(value(statuses=[said])))))
    assert (found.arrivals, found.unreadable) == ((), ())
    (sighting,) = found.sightings
    return sighting


@pytest.mark.parametrize(
    ("word", "receipt"),
    [
        ("sent", Receipt.SENT),
        ("delivered", Receipt.DELIVERED),
        ("read", Receipt.READ),
        ("played", Receipt.READ),
        ("something_new", Receipt.ACCEPTED),
    ],
)
def test_a_status_says_how_far_it_got(word: str, receipt: Receipt) -> None:
    assert seen(status(word, biz_opaque_callback_data=OURS)) == Sighting(
        tenant=TenantId("acme"), channel=ChannelName("main"), receipt=receipt, effect=EffectId(OURS), ref="wamid.S"
    )


@pytest.mark.parametrize("echo", [None, "order-17", "ef_", "ef_XYZ", "xef_00", "ef_00 ", 7, "ef_" + "0" * 65])
def test_what_is_not_our_id_is_another_programs_and_only_the_reference_counts(echo: object) -> None:
    found = seen(status(biz_opaque_callback_data=echo))

    assert (found.effect, found.ref) == (None, "wamid.S")


def test_a_failure_tells_its_code_in_our_words_and_nothing_of_the_person() -> None:
    errors = [{"code": 131026, "title": f"{PHONE} is away", "message": PHONE, "error_data": {"details": PHONE}}]

    found = seen(status("failed", errors=errors))

    assert (found.failed, found.receipt) == (True, Receipt.ACCEPTED)
    assert found.detail.startswith("131026: it cannot be delivered")
    assert PHONE not in repr(found)


@pytest.mark.parametrize("errors", [None, [], [{}], [{"code": "1"}], [{"code": True}], {"code": 1}])
def test_a_failure_without_a_code_is_a_failure(errors: object) -> None:
    found = seen(status("failed", errors=errors))

    assert (found.failed, found.detail) == (True, "failed, without a code")


def test_a_failure_with_an_unknown_code_still_says_it() -> None:
    assert seen(status("failed", errors=[{"code": 999999}])).detail == "999999: a code that is not in the table"


@pytest.mark.parametrize("broken", [{"id": None}, {"id": ""}, {"id": 7}, {"status": None}, {"id": "w" * 513}])
def test_a_status_that_names_nothing_is_unreadable(broken: dict[str, object]) -> None:
    found = parsed(body(entry(change(value(statuses=[{**status(), **broken}])))))

    assert found.sightings == ()
    assert [part.reason for part in found.unreadable] == ["a status has no id and status"]


def test_messages_and_statuses_of_one_body_are_told_apart() -> None:
    found = parsed(body(entry(change(value(messages=[message()], statuses=[status(), status("read")])))))

    assert len(found.arrivals) == 1
    assert [sighting.receipt for sighting in found.sightings] == [Receipt.DELIVERED, Receipt.READ]
