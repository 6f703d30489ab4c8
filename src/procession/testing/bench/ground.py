"""Where a measure stands: a folder of its own, with fifty tenants behind one endpoint, as a platform has them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from procession.testing.bench.deliveries import ACCOUNTS, SECRET

APPLICATION: Final = "procession.testing.bench.handlers:app"
PATIENCE_S: Final = 60.0

_ENDPOINT: Final = """
[[endpoint]]
name = "bench"
connector = "plain"
account = "/account"
signing = [{ env = "BENCH_SIGNING" }]
"""
_TENANT: Final = """
[[tenant]]
name = "{account}"

[[channel]]
tenant = "{account}"
endpoint = "bench"
account = "{account}"
id = "/id"
lane = "/who"
kind = "/kind"
text = "/text"
url = "{url}"
"""
NOWHERE: Final = "http://127.0.0.1:9/"


class Ground:
    """A working directory in which an engine can be started, again and again on the same store."""

    def __init__(self, folder: Path, *, url: str = NOWHERE) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PROCESSION_")},
            "BENCH_SIGNING": SECRET.decode(),
        }
        folder.mkdir(parents=True)
        declared = _ENDPOINT + "".join(_TENANT.format(account=account, url=url) for account in ACCOUNTS)
        (folder / "platform.toml").write_text(declared)
        self.run("apply", "-f", "platform.toml", "--json")

    @property
    def database(self) -> Path:
        return self.folder / "procession-data" / "procession.db"

    @property
    def lags(self) -> Path:
        """What the timing handler has written: seconds from the send of a webhook to the start of its handler."""
        return self.folder / "lags.json"

    def run(self, *arguments: str) -> object:
        """A command's answer."""
        ran = subprocess.run(  # noqa: S603 - our own command
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {ran.stderr}")
        return json.loads(ran.stdout)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "procession.cli", *arguments]
