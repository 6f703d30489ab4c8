"""Secrets: bound to where they belong, useless elsewhere, replaced without a trace of the old."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from procession.core.errors import Misconfigured, SecretMissing, StoreAway
from procession.core.ids import EventId, TenantId
from procession.core.limits import SECRET_OPENS_KEEP
from procession.ports.vault import SecretName
from procession.storage.memory.secrets import MemorySecrets
from procession.vault import GivenMasters, WrongKey
from tests.unit.vault.strongbox import ACME, BOLT, NOW, OTHER, TOKEN, Strongbox, master


@pytest.fixture
def box() -> Strongbox:
    return Strongbox()


async def test_what_was_sealed_opens_and_its_bytes_are_nowhere_in_the_rows(box: Strongbox) -> None:
    await box.vault().seal(ACME, TOKEN, b"the plain token", "tester")

    assert await box.vault().open(ACME, TOKEN) == b"the plain token"
    assert b"the plain token" not in box.tables.secrets[ACME, TOKEN].box


async def test_sealing_the_same_again_writes_nothing(box: Strongbox) -> None:
    assert await box.vault().seal(ACME, TOKEN, b"one", "tester")
    assert not await box.vault().seal(ACME, TOKEN, b"one", "tester")
    assert await box.vault().seal(ACME, TOKEN, b"two", "tester")

    assert [verb for _, _, verb, _ in box.audited()] == ["key add", "secret set", "secret set"]
    assert await box.vault().open(ACME, TOKEN) == b"two"


async def test_an_empty_secret_is_refused(box: Strongbox) -> None:
    with pytest.raises(Misconfigured, match="is empty"):
        await box.vault().seal(ACME, TOKEN, b"", "tester")


async def test_a_damaged_secret_can_be_set_again(box: Strongbox) -> None:
    await box.vault().seal(ACME, TOKEN, b"one", "tester")
    there = box.tables.secrets[ACME, TOKEN]
    box.tables.secrets[ACME, TOKEN] = replace(there, box=there.box[:-1] + b"?")

    assert await box.vault().seal(ACME, TOKEN, b"one", "tester")

    assert await box.vault().open(ACME, TOKEN) == b"one"


@pytest.mark.parametrize(("tenant", "name"), [(BOLT, TOKEN), (ACME, OTHER)])
async def test_a_box_moved_to_another_tenant_or_name_does_not_open(
    box: Strongbox, tenant: TenantId, name: SecretName
) -> None:
    await box.vault().seal(ACME, TOKEN, b"acme's", "tester")
    await box.vault().seal(tenant, name, b"another's", "tester")
    box.tables.secrets[tenant, name] = box.tables.secrets[ACME, TOKEN]

    with pytest.raises(WrongKey):
        await box.vault().open(tenant, name)


async def test_a_data_key_moved_to_another_tenant_does_not_open(box: Strongbox) -> None:
    await box.vault().seal(ACME, TOKEN, b"acme's", "tester")
    box.tables.sealing_keys[BOLT, 1] = box.tables.sealing_keys[ACME, 1]
    box.tables.secrets[BOLT, TOKEN] = box.tables.secrets[ACME, TOKEN]

    with pytest.raises(WrongKey):
        await box.vault().open(BOLT, TOKEN)


async def test_another_master_key_is_told_clearly_and_overwrites_nothing(box: Strongbox) -> None:
    await box.vault().seal(ACME, TOKEN, b"the plain token", "tester")
    wrong = box.vault(GivenMasters(master(b"x")))
    before = (dict(box.tables.secrets), dict(box.tables.sealing_keys))

    for act in (
        wrong.check,
        lambda: wrong.open(ACME, TOKEN),
        lambda: wrong.seal(ACME, TOKEN, b"new", "tester"),
        lambda: wrong.rotate(ACME, "tester"),
    ):
        with pytest.raises(WrongKey, match="PROCESSION_MASTER_KEY"):
            await act()

    assert (dict(box.tables.secrets), dict(box.tables.sealing_keys)) == before
    assert await box.vault().open(ACME, TOKEN) == b"the plain token"


async def test_a_secret_that_is_missing_is_named(box: Strongbox) -> None:
    with pytest.raises(SecretMissing, match=TOKEN):
        await box.vault().open(ACME, TOKEN)


async def test_fingerprints_tell_secrets_apart_and_differ_between_tenants(box: Strongbox) -> None:
    for tenant in (ACME, BOLT):
        await box.vault().seal(tenant, TOKEN, b"same", "tester")
        await box.vault().seal(tenant, OTHER, b"other", "tester")

    marks = {sealed.fingerprint for sealed in box.tables.secrets.values()}

    assert len(marks) == 4


def test_neither_a_key_nor_a_box_is_shown_by_whoever_holds_it() -> None:
    assert "mmm" not in repr(master(b"m"))


# --- opened for a turn ---

KEY, TURN = SecretName("model-key"), EventId("ev_1")


async def test_what_a_turn_opens_is_in_the_audit_without_its_value(box: Strongbox) -> None:
    await box.vault().seal(ACME, KEY, b"sk-very-secret", "tester")
    await box.vault().seal(BOLT, KEY, b"sk-of-another", "tester")
    box.tables.audit.clear()

    assert await box.vault().open_for(ACME, KEY, TURN) == b"sk-very-secret"

    assert box.audited() == [("turn ev_1", ACME, "secret open", KEY)]
    assert "sk-very-secret" not in repr(box.tables.audit)


async def test_what_was_opened_long_ago_is_forgotten_and_nothing_else_of_the_audit(box: Strongbox) -> None:
    await box.vault().seal(ACME, KEY, b"sk-very-secret", "tester")
    await box.vault().open_for(ACME, KEY, TURN)
    later = MemorySecrets(box.tables, lambda: NOW + SECRET_OPENS_KEEP + timedelta(seconds=1))

    await box.vault(rows=later).open_for(ACME, KEY, EventId("ev_2"))

    verbs = [(actor, verb) for actor, _, verb, _ in box.audited()]
    assert verbs == [("tester", "key add"), ("tester", "secret set"), ("turn ev_2", "secret open")]


class NoAudit(MemorySecrets):
    """Cannot write that a secret was opened: it raises, or never answers."""

    error: Exception | None = None

    async def opened(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()


@pytest.mark.parametrize("error", [StoreAway("the disk is away"), None])
async def test_an_audit_that_cannot_be_written_fails_no_turn_and_is_warned_of(
    box: Strongbox, error: Exception | None
) -> None:
    await box.vault().seal(ACME, KEY, b"sk-very-secret", "tester")
    rows = NoAudit(box.tables, lambda: NOW)
    rows.error = error

    assert await box.vault(rows=rows).open_for(ACME, KEY, TURN) == b"sk-very-secret"

    [line] = box.notebook.lines
    assert (line.what, line.is_warning) == ("vault.open_not_audited", True)
    assert {"tenant": ACME, "secret": KEY, "turn": TURN}.items() <= line.fields.items()
    assert "sk-very-secret" not in repr(line)
