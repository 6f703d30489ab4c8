"""The question that Meta asks of a URL before it delivers anything there, and again whenever it is edited."""

from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from procession.testing.chaos.caller import Caller, NotSent, Unclear
from procession.testing.whatsapp.target import Target

_CHALLENGE: Final = "1158201444"
_PATIENCE: Final = timedelta(seconds=10)


async def handshake(target: Target, verify_token: str) -> str | None:
    """None: the target has answered as it must. Else what was wrong."""
    asked = {"hub.mode": "subscribe", "hub.challenge": _CHALLENGE, "hub.verify_token": verify_token}
    async with Caller(host=target.host, port=target.port, patience=_PATIENCE) as caller:
        try:
            answer = await caller.get(f"{target.path}?{urlencode(asked)}")
        except (NotSent, Unclear) as away:
            return str(away)
    if answer.status != 200:
        return f"it answered {answer.status}"
    return None if answer.body == _CHALLENGE.encode() else "it answered 200 without the challenge"
