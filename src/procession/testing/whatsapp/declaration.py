"""What an engine has to be told so that it plays with a simulation: a declaration, settings, and secrets."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from procession.testing.whatsapp.number import Number

_PER_SECOND_MAX: Final = 1000
_ENDPOINT: Final = """\
[[endpoint]]
name = "{endpoint}"
connector = "whatsapp"
app_secret = [{{ env = "{secret}" }}]
"""
_TENANT: Final = """
[[tenant]]
name = "{tenant}"

[[channel]]
tenant = "{tenant}"
endpoint = "{endpoint}"
account = "{account}"
token = {{ env = "{token}" }}
api_url = "{url}"
{settings}
"""


def declaration(
    numbers: Sequence[Number],
    *,
    endpoint: str,
    secret_env: str,
    url: str,
    pace: float = 1.0,
    verify_env: str | None = None,
    channel: Mapping[str, str | float] | None = None,
) -> str:
    """For `procession apply`. Meta's rates are as much faster as the simulation's time is. `channel`: settings of every
    channel, which win over these.
    """
    rates = {"pair_every": round(6 / pace, 3), "messages_per_second": min(int(80 * pace), _PER_SECOND_MAX)}
    settings = "\n".join(f"{name} = {json.dumps(value)}" for name, value in {**rates, **(channel or {})}.items())
    tenants = [
        _TENANT.format(
            tenant=number.tenant,
            endpoint=endpoint,
            account=number.id,
            token=token_env(number),
            url=url,
            settings=settings,
        )
        for number in numbers
    ]
    verify = f'verify_token = {{ env = "{verify_env}" }}\n' if verify_env else ""
    return "".join([_ENDPOINT.format(endpoint=endpoint, secret=secret_env), verify, *tenants])


def token_env(number: Number) -> str:
    return f"{number.tenant.upper().replace('-', '_')}_TOKEN"


def instructions(declared: str, numbers: Sequence[Number], port: int) -> str:
    """The declaration as a page that a shell and a person can read."""
    exports = "\n".join(f"#   export {token_env(number)}={number.token}" for number in numbers)
    return (
        f"# platform.toml, for `procession apply -f platform.toml`. The tokens, which Graph will ask for:\n{exports}\n"
        f"# The engine may call this machine if it is told so: procession serve … --allow-private 127.0.0.0/8 "
        f"--outbound-ports {port}\n\n{declared}"
    )
