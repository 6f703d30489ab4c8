"""Where a campaign takes place: a folder with a declaration, an engine on it, and a provider for what it sends."""

import hashlib
import hmac
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from procession.ports.clock import Clock
from procession.testing.chaos.delivery import Delivery
from procession.testing.chaos.served import Served

SECRET: Final = "a signing secret for chaos, long enough"  # noqa: S105 (of a throw-away engine)
TENANTS: Final = ("acme", "bolt", "cask")
LANES_EACH: Final = 16
ENDPOINT: Final = "chaos"
BOT: Final = "procession.testing.chaos.bot:app"
LEASE: Final = "3s"
_APPLY_WITHIN_S: Final = 60

_TENANT: Final = """
[[tenant]]
name = "{tenant}"

[[channel]]
tenant = "{tenant}"
endpoint = "chaos"
connector = "plain"
account = "{tenant}"
id = "/id"
lane = "/lane"
kind = "/kind"
url = "http://127.0.0.1:{port}/taken"
tries_max = 1000
"""
_PLATFORM: Final = """
[[endpoint]]
name = "chaos"
connector = "plain"
account = "/account"
signing = [{ env = "CHAOS_SECRET" }]
"""


class Scene:
    def __init__(self, folder: Path, *, provider_port: int, port: int, clock: Clock, launcher: Sequence[str]) -> None:
        """`launcher`: what runs `procession`, so that a test can run a broken one."""
        self.folder = folder
        self.data = folder / "procession-data"
        self.port = port
        self._launcher = tuple(launcher)
        self._environment = _environment()
        declared = _PLATFORM + "".join(_TENANT.format(tenant=tenant, port=provider_port) for tenant in TENANTS)
        (folder / "platform.toml").write_text(declared, encoding="utf-8")
        self.served = Served(
            argv=(*self._launcher, "serve", BOT, *_options(port)),
            folder=folder,
            port=port,
            clock=clock,
            environ=self._environment,
        )

    def apply(self) -> None:
        """While no engine runs."""
        subprocess.run(  # noqa: S603 (our own command)
            (*self._launcher, "apply", "-f", "platform.toml"),
            cwd=self.folder,
            env=self._environment,
            check=True,
            timeout=_APPLY_WITHIN_S,
            stdout=subprocess.DEVNULL,
        )


def lanes() -> list[str]:
    return [f"{tenant}-{number}" for number in range(LANES_EACH) for tenant in TENANTS]


def deliver(lane: str, n: int) -> Delivery:
    """The n-th event of a lane, addressed to the lane's tenant, signed."""
    event = f"ev-{lane}-{n}"
    content = {"id": event, "kind": "chaos", "account": lane.partition("-")[0], "lane": lane, "n": n}
    body = json.dumps(content | {"padding": "x" * 400}).encode()
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"content-type": "application/json", "x-signature-256": f"sha256={digest}"}
    return Delivery(event=event, lane=lane, n=n, body=body, headers=headers)


def this_procession() -> tuple[str, ...]:
    return sys.executable, "-m", "procession.cli"


def _options(port: int) -> tuple[str, ...]:
    reach = ("--allow-private", "127.0.0.0/8", "--outbound-ports", "1-65535")
    return ("--host", "127.0.0.1", "--port", str(port), "--lease", LEASE, *reach)


def _environment() -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PROCESSION_")}
    return {**own, "CHAOS_SECRET": SECRET}
