"""Graph's refusals: code, HTTP status and title as documented. Throttling comes with 400, not with 429."""

import json
from dataclasses import dataclass
from typing import Final

_HTTP: Final = {190: 401, 131000: 500, 2: 503}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    code: int
    title: str
    details: str = ""

    @property
    def status(self) -> int:
        return _HTTP.get(self.code, 400)

    @property
    def body(self) -> bytes:
        error: dict[str, object] = {
            "message": f"(#{self.code}) {self.title}",
            "type": "OAuthException",
            "code": self.code,
            "fbtrace_id": "simulated",
        }
        if self.details:
            error["error_data"] = {"messaging_product": "whatsapp", "details": self.details}
        return json.dumps({"error": error}).encode()


def parameter(details: str) -> Refusal:
    return Refusal(code=100, title="Invalid parameter", details=details)


def missing(name: str) -> Refusal:
    return Refusal(code=131008, title="Required parameter is missing", details=f"'{name}' is required")


def invalid(details: str) -> Refusal:
    return Refusal(code=131009, title="Parameter value is not valid", details=details)


NO_TOKEN: Final = Refusal(code=190, title="Invalid OAuth access token")
UNDELIVERABLE: Final = Refusal(code=131026, title="Message undeliverable")
WINDOW_CLOSED: Final = Refusal(code=131047, title="Re-engagement message")
PAIR_RATE: Final = Refusal(code=131056, title="(Business Account, Consumer Account) pair rate limit hit")
THROUGHPUT: Final = Refusal(code=130429, title="Rate limit hit")
UNAVAILABLE: Final = Refusal(code=131000, title="Something went wrong")


def no_such_object(name: str) -> Refusal:
    return Refusal(code=100, title=f"Unsupported post request. Object with ID '{name}' does not exist")
