"""The directory: who there is, as one snapshot, changed as a whole."""

from dataclasses import replace
from datetime import timedelta

from procession.ports.directory import CollectRule, Snapshot
from procession.ports.vault import SecretName
from tests.conformance.acts import accept, claim, claim_one, know, settle
from tests.conformance.builders import (
    ACME,
    BOLT,
    HOOKS,
    MAIN,
    OPERATOR,
    a_snapshot,
    a_tenant,
    an_event,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture


def everything() -> Snapshot:
    """A snapshot with something in each place."""
    plain = a_snapshot(a_tenant(ACME, weight=3, lanes_max=7, pool="big"), a_tenant(BOLT))
    endpoint = replace(
        plain.endpoints[HOOKS],
        signing=(SecretName("endpoint/hooks/signing/1"), SecretName("endpoint/hooks/signing/2")),
        settings={"header": "x-signature", "tolerance": 300, "ratio": 0.5, "strict": True, "paths": ("/a", "/b")},
    )
    channel = replace(
        plain.channels[ACME, MAIN],
        secrets={"token": SecretName("channel/main/token")},
        settings={"id_pointer": "/id"},
    )
    rule = CollectRule(
        kinds=("note", "text.*"),
        quiet=timedelta(seconds=1.5),
        wait_max=timedelta(seconds=10),
        events_max=5,
        flush_words=("now",),
        tenant=ACME,
    )
    return replace(
        plain,
        endpoints={HOOKS: endpoint},
        channels={**plain.channels, (ACME, MAIN): channel},
        collects=(rule, replace(rule, tenant=None, flush_words=())),
    )


@line("Y2")
async def test_a_snapshot_is_answered_as_it_was_applied(harness: Harness) -> None:
    await harness.directory.change(everything(), actor=OPERATOR)

    found = await harness.directory.snapshot()

    assert replace(found, version=0) == everything()


@line("Y2", "K1")
async def test_each_change_makes_a_new_version_and_is_audited(harness: Harness) -> None:
    before = (await harness.directory.snapshot()).version
    rows = len(await harness.console.audit(limit=1000))

    changes = await harness.directory.change(everything(), actor="otto")

    new_rows = (await harness.console.audit(limit=1000))[:-rows]
    assert changes
    assert (await harness.directory.snapshot()).version > before
    assert {row.actor for row in new_rows} == {"otto"}


@line("Y2")
async def test_applying_the_same_again_changes_nothing_and_writes_nothing(harness: Harness) -> None:
    await harness.directory.change(everything(), actor=OPERATOR)
    before = (await harness.directory.snapshot(), await picture(harness))

    changes = await harness.directory.change(everything(), actor=OPERATOR)

    assert changes == ()
    assert (await harness.directory.snapshot(), await picture(harness)) == before


@line("Y2")
async def test_a_dry_run_answers_the_differences_and_writes_nothing(harness: Harness) -> None:
    before = (await harness.directory.snapshot(), await picture(harness))

    dry = await harness.directory.change(everything(), actor=OPERATOR, dry_run=True)

    assert (await harness.directory.snapshot(), await picture(harness)) == before
    assert dry == await harness.directory.change(everything(), actor=OPERATOR)


@line("Y2")
async def test_differences_say_what_was_added_changed_and_removed(harness: Harness) -> None:
    first = await harness.directory.change(a_snapshot(a_tenant(ACME, weight=2)), actor=OPERATOR)
    second = await harness.directory.change(a_snapshot(a_tenant(ACME, weight=2), a_tenant(BOLT)), actor=OPERATOR)

    assert [(change.sign, change.what) for change in first] == [
        ("~", "tenant acme"),
        ("-", "tenant bolt"),
        ("-", "channel bolt/main"),
    ]
    assert [(change.sign, change.what) for change in second] == [("+", "tenant bolt"), ("+", "channel bolt/main")]


@line("Y1")
async def test_what_has_unfinished_events_becomes_inactive_instead_of_removed(harness: Harness) -> None:
    await accept(harness, an_event(tenant=BOLT))

    await know(harness, a_tenant(ACME))

    found = await harness.directory.snapshot()
    assert not found.tenants[BOLT].active
    assert (BOLT, MAIN) in found.channels
    assert await claim(harness) == ()


@line("Y1")
async def test_what_became_inactive_comes_back_whole(harness: Harness) -> None:
    await accept(harness, an_event(tenant=BOLT))
    await know(harness, a_tenant(ACME))

    await know(harness, a_tenant(ACME), a_tenant(BOLT))

    assert (await claim_one(harness)).lease.tenant == BOLT


@line("Y1")
async def test_what_has_nothing_unfinished_is_removed(harness: Harness) -> None:
    await accept(harness, an_event(tenant=BOLT))
    await settle(harness, await claim_one(harness))

    await know(harness, a_tenant(ACME))

    found = await harness.directory.snapshot()
    assert (list(found.tenants), list(found.channels)) == ([ACME], [(ACME, MAIN)])


@line("Y2", "G2", needs=(Guarantee.DURABLE,))
async def test_the_directory_survives_a_restart(harness: Harness) -> None:
    await harness.directory.change(everything(), actor=OPERATOR)
    before = await harness.directory.snapshot()

    await harness.reopen()

    assert await harness.directory.snapshot() == before
