"""`procession lanes` and `procession lane …`: what is waiting where, and the operator's hand on it."""

from datetime import timedelta

import click

from procession.cli import session, show
from procession.cli.why import tell_event
from procession.core.errors import BadRequest
from procession.core.ids import TenantId
from procession.core.lane import Phase, Side
from procession.ports.console import LaneView


@click.command()
@session.reads
@session.of_tenant
@session.up_to
@click.option("--phase", type=click.Choice([str(phase) for phase in Phase]), help="Lanes in this phase only.")
@click.option("--side", type=click.Choice([str(side) for side in Side]), help="One side of the lanes only.")
def lanes(tenant: str | None, limit: int, phase: str | None, side: str | None) -> None:
    """Lanes that have something to do, the one that waits longest first."""
    found = session.at_desk(
        lambda desk: desk.lanes(
            _tenant(tenant), None if phase is None else Phase(phase), None if side is None else Side(side), limit
        )
    )
    show.answer(found, lambda: _table(found))


def _table(found: tuple[LaneView, ...]) -> None:
    show.table(
        ("tenant", "lane", "side", "phase", "waiting", "oldest", "tries", "until", "reason"),
        (
            (
                view.tenant,
                view.lane_key,
                view.side,
                view.phase,
                view.waiting,
                view.oldest_at,
                view.tries,
                view.paused_until or view.wake_at,
                view.reason or ("" if view.merged_into is None else f"merged into {view.merged_into}"),
            )
            for view in found
        ),
        empty="no lane has anything to do",
    )


@click.group()
def lane() -> None:
    """One lane, by its key or its id."""


@lane.command("show")
@session.reads
@session.of_tenant
@click.argument("name", metavar="LANE")
def lane_show(name: str, tenant: str | None) -> None:
    """Both sides of a lane, and its events that have not ended."""
    views, events = session.at_desk(lambda desk: desk.lane(name, _tenant(tenant)))

    def tell() -> None:
        _table(views)
        for view in events:
            show.say("")
            tell_event(view)

    show.answer({"sides": views, "events": events}, tell)


@lane.command("pause")
@session.acts
@session.of_tenant
@click.option("--for", "duration", metavar="DURATION", help="Like 30m; without it, until `lane resume`.")
@click.option("--keep-effects", is_flag=True, help="Send at the end what waited; without it, that is dropped.")
@click.option("--reason", default="", help="Shown to whoever asks why it waits.")
@click.argument("name", metavar="LANE")
def lane_pause(name: str, tenant: str | None, duration: str | None, keep_effects: bool, reason: str) -> None:
    """Stop a lane: no turn is played and nothing sent until it is resumed. A person takes over."""
    changed = session.at_desk(
        lambda desk: desk.pause(
            name,
            _tenant(tenant),
            None if duration is None else _duration(duration),
            keep_effects=keep_effects,
            reason=reason,
            actor=session.actor(),
        )
    )
    show.answer({"paused": changed}, lambda: show.say("paused" if changed else "it was paused so already"))


@lane.command("resume")
@session.acts
@session.of_tenant
@click.argument("name", metavar="LANE")
def lane_resume(name: str, tenant: str | None) -> None:
    """End a pause, or a park: the first in line is tried again, its tries counted from zero."""
    changed = session.at_desk(lambda desk: desk.resume(name, _tenant(tenant), actor=session.actor()))
    show.answer({"resumed": changed}, lambda: show.say("resumed" if changed else "it was neither paused nor parked"))


@lane.command("skip")
@session.acts
@session.of_tenant
@click.option("--sends", is_flag=True, help="Pass the first effect instead of the first turn.")
@click.argument("name", metavar="LANE")
def lane_skip(name: str, tenant: str | None, sends: bool) -> None:
    """Pass the first in line, for good: it is neither played nor set aside."""
    side = Side.SENDS if sends else Side.TURNS
    skipped = session.at_desk(lambda desk: desk.skip(name, _tenant(tenant), side=side, actor=session.actor()))
    show.answer({"skipped": skipped}, lambda: show.say(f"skipped {skipped}" if skipped else "nothing was waiting"))


@lane.command("replay")
@session.acts
@session.of_tenant
@click.argument("name", metavar="LANE")
def lane_replay(name: str, tenant: str | None) -> None:
    """Play all set-aside events (dead letters) of a lane once more, in their order, before whatever waits."""
    replayed = session.at_desk(lambda desk: desk.replay_lane(name, _tenant(tenant), actor=session.actor()))
    show.answer({"replayed": replayed}, lambda: show.say(f"{len(replayed)} will be played again"))


def _tenant(name: str | None) -> TenantId | None:
    return None if name is None else TenantId(name)


def _duration(text: str) -> timedelta:
    from procession.app.settings import duration_of

    try:
        return duration_of(text)
    except ValueError as error:
        raise BadRequest(f"--for: {error}") from None
