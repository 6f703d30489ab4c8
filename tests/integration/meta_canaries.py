"""The life of `canaries`, lived on WhatsApp: app secret, verify token and token of each tenant's own, and a Graph
that quotes in its errors whatever it was sent, as the real one does.
"""

import hashlib
import hmac
import json
import time
from typing import Final
from urllib.parse import urlencode

from tests.integration.canaries import APPLICATION, BOTH, Canaries, Life, Receiver
from tests.integration.engines import PATIENCE_S, Engine

KINDS: Final = {"text": "text", "plain": "image", "fail": "document", "park": "video", "missing": "sticker"}
"""Which type of message plays which part; any other is an audio, which nobody plays."""
NUMBERS: Final = {own.tenant: f"10654035224{number:04d}" for number, own in enumerate(BOTH)}

PLATFORM: Final = """
[[tenant]]
name = "{tenant}"

[[endpoint]]
name = "{tenant}"
connector = "whatsapp"
tenant = "{tenant}"
app_secret = [{{ env = "{upper}_SIGNING" }}]
verify_token = {{ env = "{upper}_VERIFY" }}

[[channel]]
tenant = "{tenant}"
endpoint = "{tenant}"
account = "{number}"
api_url = "{url}"
token = {{ env = "{upper}_SENDING" }}
"""


def application() -> str:
    text = APPLICATION.replace('turn.event.data["text"]', "turn.event.text").replace(
        "turn.event.data['text']", "turn.event.text"
    )
    for part, kind in KINDS.items():
        text = text.replace(f'@app.on("{part}"', f'@app.on("whatsapp.{kind}"')
    return text


class GraphReceiver(Receiver):
    def __init__(self) -> None:
        super().__init__()
        self._revoked: set[str] = set()

    def answer(self, path: str, headers: str, body: bytes) -> tuple[int, bytes]:
        quoted = f"{path} {headers} {body.decode()}"
        if b"send-190" in body and path not in self._revoked:
            self._revoked.add(path)
            return 401, _error(190, f"Malformed access token in {quoted}")
        if b"send-400" in body:
            return 400, _error(131026, quoted)
        if b"send-500" in body or b"send-503" in body:
            return 500, _error(131000, quoted)
        to = json.loads(body)["to"]
        contacts = [{"input": to, "wa_id": to.removeprefix("+")}]
        wamid = f"wamid.{hashlib.sha256(body).hexdigest()}"
        return 200, json.dumps({"contacts": contacts, "messages": [{"id": wamid}]}).encode()


def _error(code: int, quoted: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": quoted, "error_data": {"details": quoted}}}).encode()


class MetaLife(Life):
    def _platform(self, receiver: Receiver) -> str:
        return "".join(
            PLATFORM.format(
                tenant=own.tenant,
                upper=own.tenant.upper(),
                url=receiver.url(own.tenant),
                number=NUMBERS[own.tenant],
            )
            for own in BOTH
        )

    def person(self, own: Canaries, number: int) -> str:
        return f"{own.phone}{number:02d}"

    def deliver(self, engine: Engine, own: Canaries, kind: str, number: int, more: str = "") -> None:
        said, type_ = f"{own.text} {more} #{number}#", KINDS.get(kind, "audio")
        content = {"body": said} if type_ == "text" else {"id": "7", "caption": said}
        message = {
            "from": self.person(own, number),
            "id": f"{own.tenant}-{number}",
            "timestamp": str(int(time.time())),
            "type": type_,
            type_: content,
        }
        contact = {"wa_id": message["from"], "profile": {"name": own.text}}
        assert self.post(engine, own, _body(NUMBERS[own.tenant], messages=[message], contacts=[contact])) == 200

    def post(
        self, engine: Engine, own: Canaries, body: bytes, *, secret: str = "", path: str = "", **headers: str
    ) -> int:
        signature = hmac.new((secret or own.signing).encode(), body, hashlib.sha256).hexdigest()
        signed = {"content-type": "application/json", "x-hub-signature-256": f"sha256={signature}"}
        return self.request(engine, "POST", path or f"/hooks/{own.tenant}", body, {**signed, **headers})

    # --- what only Meta does ---

    def shake_hands(self, engine: Engine, own: Canaries) -> None:
        for token, status in ((own.verify_token, 200), (own.signing, 403)):
            asked = {"hub.mode": "subscribe", "hub.challenge": "1158201444", "hub.verify_token": token}
            assert self.request(engine, "GET", f"/hooks/{own.tenant}?{urlencode(asked)}") == status

    def report(self, engine: Engine, own: Canaries) -> None:
        """Statuses that quote the person, the text and the number of somebody else; and a number that nobody has."""
        details = {"details": f"{own.text} {own.phone}"}
        failed = {
            "id": f"wamid.{own.tenant}",
            "status": "failed",
            "recipient_id": own.phone,
            "errors": [{"code": 131026, "title": own.text, "message": own.phone, "error_data": details}],
        }
        assert self.post(engine, own, _body(NUMBERS[own.tenant], statuses=[failed, {"recipient_id": own.phone}])) == 200
        message = {"from": own.phone, "id": "1", "type": "text", "text": {"body": own.text}}
        assert self.post(engine, own, _body("999", messages=[message])) == 200

    def be_revoked(self, engine: Engine, own: Canaries) -> None:
        """Graph quotes the token that it refuses; then an operator lets the tenant send again."""
        self.deliver(engine, own, "text", 30, "send-190")
        until = time.monotonic() + PATIENCE_S
        while not json.loads(self.tell(own.tenant, "sending", "show", "--tenant", own.tenant)):
            assert time.monotonic() < until, "nothing was held back"
        self.tell("operator", "doctor")
        self.tell(own.tenant, "sending", "release", own.tenant)


def _body(number: str, **parts: object) -> bytes:
    value = {"metadata": {"phone_number_id": number}, **parts}
    change = {"field": "messages", "value": value}
    return json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "102", "changes": [change]}]}).encode()
