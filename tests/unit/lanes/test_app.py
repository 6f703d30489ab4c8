"""Declaring handlers: which one plays what, and mistakes that are told before the first event."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from procession import App, Misconfigured, PlainTurn, Retry, Turn, collect, one
from procession.lanes.handler import WhenUsedUp


async def first(turn: Turn) -> None: ...


async def second(turn: Turn) -> None: ...


def test_the_most_specific_handler_plays_an_event() -> None:
    app = App()
    for kind in ("*", "whatsapp.*", "whatsapp.image.*", "whatsapp.text"):
        app.on(kind)(first)

    chosen = {kind: app.handler_for(kind) for kind in ("whatsapp.text", "whatsapp.image.jpeg", "whatsapp.x", "order")}

    assert {kind: handler.kinds for kind, handler in chosen.items() if handler} == {
        "whatsapp.text": ("whatsapp.text",),
        "whatsapp.image.jpeg": ("whatsapp.image.*",),
        "whatsapp.x": ("whatsapp.*",),
        "order": ("*",),
    }


def test_without_a_handler_there_is_none_until_one_is_declared() -> None:
    app = App()

    assert app.handler_for("order") is None
    app.on("order")(first)
    assert app.handler_for("order") is not None


def test_kinds_from_outside_do_not_fill_the_memory() -> None:
    app = App()
    app.on("order.*")(first)

    for number in range(5_000):
        assert app.handler_for(f"order.{number}")

    assert len(app._found) < 2_000


def test_a_decorated_function_stays_what_it_was() -> None:
    assert App().on("order")(first) is first


def test_two_handlers_of_one_kind_are_told_with_both_names() -> None:
    app = App()
    app.on("order")(first)

    with pytest.raises(Misconfigured, match=r"two handlers for 'order': .* first and .* second"):
        app.on("shop.paid", "order")(second)
    assert app.handler_for("shop.paid") is None


def gives(turn: Turn) -> Iterator[int]:
    yield 1


def takes_two(turn: Turn, other: int) -> None: ...


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (lambda app: app.on()(first), "needs the kinds"),
        (lambda app: app.on(first), "needs the kinds"),
        (lambda app: app.on("a*b")(first), "may stand at its end only"),
        (lambda app: app.on("two words")(first), "without blanks"),
        (lambda app: app.on("")(first), "write a kind"),
        (lambda app: app.on("order", tries=0)(first), "at least one"),
        (lambda app: app.on("order", tries=1, retry=Retry())(first), "write one of them"),
        (lambda app: app.on("order", when_used_up="drop")(first), "write 'set_aside' or 'park'"),
        (lambda app: app.on("order", deadline=5)(first), "write a duration"),
        (lambda app: app.on("order", mode="one")(first), "write `one` or `collect"),
        (lambda app: app.on("order")(gives), "yields"),
        (lambda app: app.on("order")(takes_two), "cannot be called with one argument"),
        (lambda app: app.on("order")(5), "belongs over a function"),
        (lambda _: collect(quiet=timedelta(0)), "write 0 < quiet"),
        (lambda _: collect(quiet=timedelta(2), wait_max=timedelta(1)), "quiet <= wait_max"),
        (lambda _: collect(quiet=timedelta(2), events_max=1), "write 2 to"),
        (lambda _: collect(quiet=timedelta(2), flush="now"), "write a tuple"),
    ],
)
def test_a_wrong_declaration_is_told_with_what_to_write(declare: Callable[[App], object], told: str) -> None:
    with pytest.raises(Misconfigured, match=told):
        declare(App())


def test_options_of_a_handler_are_kept() -> None:
    app = App()

    @app.on("order", tries=3, when_used_up="park", deadline=timedelta(seconds=5), mode=one)
    def plain(turn: PlainTurn) -> None: ...

    [handler] = app.handlers
    assert (handler.plain, handler.retry.tries_max, handler.when_used_up) == (True, 3, WhenUsedUp.PARK)
    assert handler.deadline == timedelta(seconds=5)


def test_what_collects_is_told_to_the_directory_the_most_specific_first() -> None:
    app = App()
    app.on("whatsapp.*", mode=collect(quiet=timedelta(seconds=3), flush=("now",)))(first)
    app.on("whatsapp.image")(first)
    app.on("whatsapp.voice.*", mode=collect(quiet=timedelta(seconds=9)))(second)
    app.on("order")(second)

    rules = app.collects

    assert [rule.kinds for rule in rules] == [("whatsapp.image",), ("whatsapp.voice.*",), ("whatsapp.*",)]
    assert [rule.events_max for rule in rules] == [1, 20, 20]
    assert rules[2].flush_words == ("now",)
    assert rules[1].wait_max == timedelta(seconds=90)
