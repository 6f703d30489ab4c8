"""A declaration: tables become a plan, and secrets are never written out."""

from pathlib import Path

import pytest

from procession.app.declared import Sources, read_declared
from procession.app.plan import Plan
from procession.core.errors import Misconfigured

WHOLE = """
[[tenant]]
name = "acme"
weight = 2
lanes_max = 20
pool = "big"

[[endpoint]]
name = "shop"
connector = "plain"
tenant = "acme"
signing = [{ env = "OLD" }, { file = "new.txt" }]
signature_header = "x-sig"

[[channel]]
tenant = "acme"
endpoint = "shop"
account = "a1"
id = "/id"
timeout = 2.5
tags = ["one", "two"]
signing = { stdin = true }
token = { env = "TOKEN" }
active = false
"""


def _read(text: str, folder: Path = Path(), stdin: bytes = b"from-stdin\r\n") -> Plan:
    environment = {"OLD": "old-secret", "TOKEN": "the-token", "EMPTY": ""}
    return read_declared(text, Sources(folder=folder, environment=environment, stdin=lambda: stdin))


def test_a_whole_declaration_becomes_a_plan(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_bytes(b"new-secret\n")

    plan = _read(WHOLE, tmp_path)

    (tenant,), (endpoint,), (channel,) = plan.tenants, plan.endpoints, plan.channels
    assert (tenant.id, tenant.weight, tenant.lanes_max, tenant.pool, tenant.active) == ("acme", 2, 20, "big", True)
    assert (endpoint.tenant, endpoint.signing) == ("acme", (b"old-secret", b"new-secret"))
    assert endpoint.settings == {"signature_header": "x-sig"}
    assert (channel.name, channel.connector, channel.account, channel.active) == ("shop", "plain", "a1", False)
    assert channel.secrets == {"signing": b"from-stdin", "token": b"the-token"}
    assert channel.settings == {"id": "/id", "timeout": 2.5, "tags": ("one", "two")}


def test_a_plan_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_bytes(b"new-secret")

    shown = repr(_read(WHOLE, tmp_path))

    assert not [secret for secret in ("old-secret", "new-secret", "from-stdin", "the-token") if secret in shown]


ENDPOINT = '[[endpoint]]\nname = "shop"\nconnector = "plain"\n'


@pytest.mark.parametrize(
    "signing",
    [
        '"hush-hush"',
        '["hush-hush"]',
        '{ value = "hush-hush" }',
        '{ env = "OLD", file = "hush-hush" }',
        "{ stdin = false }",
    ],
)
def test_a_secret_that_is_written_out_is_refused_and_not_repeated(signing: str) -> None:
    with pytest.raises(Misconfigured, match="endpoint shop: signing") as caught:
        _read(f"{ENDPOINT}signing = {signing}")

    assert "hush-hush" not in str(caught.value)
    assert '{ env = "NAME" }' in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing = ", "not TOML"),
        ('[[tenent]]\nname = "a"', "did you mean 'tenant'"),
        ('[tenant]\nname = "a"', r"written as \[\[tenant\]\]"),
        ('[[tenant]]\nname = "a"\nwieght = 2', "did you mean 'weight'"),
        ('[[tenant]]\nname = "a/b"', "must be a name"),
        ("[[tenant]]\nweight = 1", "tenant 1 has no 'name'"),
        ('[[tenant]]\nname = "a"\nweight = 0', "from 1 to 1,000"),
        ('[[tenant]]\nname = "a"\nactive = 1', "true or false"),
        ('[[tenant]]\nname = "a"\n[[tenant]]\nname = "a"', "tenant a is there twice"),
        (ENDPOINT, "has no 'signing'"),
        (f'{ENDPOINT}signing = {{ env = "NOWHERE" }}', "the environment has no NOWHERE"),
        (f'{ENDPOINT}signing = {{ env = "EMPTY" }}', "is empty"),
        (f'{ENDPOINT}signing = {{ file = "nowhere" }}', "cannot be read"),
        (f"{ENDPOINT}signing = [{{ stdin = true }}, {{ stdin = true }}]", "a second secret from standard input"),
        (f'{ENDPOINT}signing = {{ env = "OLD" }}\nlist = [1]', "list must be text"),
        ('[[channel]]\ntenant = "a"\nendpoint = "shop"', "no endpoint 'shop'"),
    ],
)
def test_a_mistake_is_named_with_its_table(text: str, says: str) -> None:
    with pytest.raises(Misconfigured, match=says):
        _read(text)


def test_a_channel_is_signed_by_one_secret(tmp_path: Path) -> None:
    channel = '[[channel]]\ntenant = "a"\nendpoint = "shop"\nsigning = [{ env = "OLD" }, { env = "TOKEN" }]'

    with pytest.raises(Misconfigured, match="one secret here"):
        _read(f'{ENDPOINT}signing = {{ env = "OLD" }}\n{channel}')
