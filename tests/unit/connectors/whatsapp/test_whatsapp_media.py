"""Files at Graph: the token goes where it belongs, nobody else's file is handed out, and what is broken is no file."""

import base64
import json
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256

import pytest

from procession.connectors.whatsapp.media import SIZES_MAX
from procession.core.errors import BadRequest, FileFailed
from procession.core.limits import FILE_BYTES_MAX
from procession.ports.connector import FileCall
from procession.ports.directory import Channel
from procession.ports.files import File
from procession.ports.wire import Answered, Doubt, NotSent, Unclear, Unsent, WireAnswer, WireRequest
from tests.unit.connectors.whatsapp.graph import TOKEN, fault, said
from tests.unit.connectors.whatsapp.meta import CONNECTOR, NUMBER, PHONE, channel

PICTURE = b"\xff\xd8 a picture \r\n--procession-"
JPEG = File(content=PICTURE, mime_type="image/jpeg", name="menu.jpg")
AT_META = "https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=71&ext=5&hash=x"


class Answers:
    """A wire that gives one answer after the other."""

    def __init__(self, *answers: WireAnswer) -> None:
        self._answers = list(answers)
        self.requests: list[WireRequest] = []

    async def call(self, request: WireRequest) -> WireAnswer:
        self.requests.append(request)
        return self._answers.pop(0)

    async def close(self) -> None: ...


def a_call(through: Channel | None = None, token: bytes | None = TOKEN) -> FileCall:
    return FileCall(
        channel=through or channel(),
        secrets={} if token is None else {"token": token},
        deadline=timedelta(seconds=30),
        may_begin=lambda: True,
    )


def told(url: str = AT_META, **more: object) -> Answered:
    return said({"url": url, "mime_type": "image/jpeg", "file_size": len(PICTURE), "id": "71", **more})


def there(content: bytes = PICTURE, status: int = 200) -> Answered:
    return Answered(status=status, body=content)


async def downloaded(*answers: WireAnswer, through: Channel | None = None, file_id: str = "71") -> bytes:
    return await CONNECTOR.download(a_call(through), file_id, Answers(*answers))


def bearer(request: WireRequest) -> str:
    return dict(request.headers)["authorization"]


# --- up ---


async def test_a_file_is_handed_over_in_one_call_to_the_numbers_own_path() -> None:
    wire = Answers(said({"id": "1029384756"}))

    assert await CONNECTOR.upload(a_call(), JPEG, wire) == "1029384756"

    (request,) = wire.requests
    assert (request.method, request.url) == ("POST", f"https://graph.facebook.com/v25.0/{NUMBER}/media")
    assert bearer(request) == f"Bearer {TOKEN.decode()}"
    kind, _, boundary = dict(request.headers)["content-type"].partition("; boundary=")
    assert kind == "multipart/form-data"
    parts = request.body.split(f"--{boundary}".encode())
    assert [part.partition(b"\r\n\r\n")[2] for part in parts[1:-1]] == [
        b"whatsapp\r\n",
        b"image/jpeg\r\n",
        PICTURE + b"\r\n",
    ]
    assert b'filename="menu.jpg"' in parts[3]
    assert parts[-1] == b"--\r\n"


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (File(content=b"", mime_type="image/png"), "empty"),
        (File(content=b"x", mime_type="picture"), "image/jpeg"),
        (File(content=b"x", mime_type="image/png\r\nx: y"), "image/jpeg"),
        (File(content=b"x", mime_type="image/png", name='a"\r\nx: y'), "name"),
        (File(content=b"x", mime_type="image/png", name="../secret"), "name"),
        (File(content=b"x" * (SIZES_MAX["image/png"] + 1), mime_type="image/png"), "at most"),
        (File(content=b"x" * (SIZES_MAX["image/webp"] + 1), mime_type="image/webp"), "at most"),
    ],
)
async def test_what_graph_could_never_take_reaches_no_wire(file: File, words: str) -> None:
    wire = Answers()

    with pytest.raises(BadRequest, match=words):
        await CONNECTOR.upload(a_call(), file, wire)

    assert wire.requests == []


@pytest.mark.parametrize("content", [{}, {"id": 7}, {"id": ""}, {"id": "../x"}])
async def test_an_upload_without_an_id_has_failed(content: Mapping[str, object]) -> None:
    with pytest.raises(FileFailed, match="no id"):
        await CONNECTOR.upload(a_call(), JPEG, Answers(said(content)))


# --- down ---


@pytest.mark.parametrize(
    "digest", [sha256(PICTURE).hexdigest(), base64.b64encode(sha256(PICTURE).digest()).decode(), 7]
)
async def test_a_file_is_asked_for_by_its_number_and_fetched_from_where_graph_says(digest: object) -> None:
    wire = Answers(told(sha256=digest), there())

    assert await CONNECTOR.download(a_call(), "71", wire) == PICTURE

    first, second = wire.requests
    assert (first.method, first.url) == ("GET", f"https://graph.facebook.com/v25.0/71?phone_number_id={NUMBER}")
    assert (second.method, second.url) == ("GET", AT_META)
    assert bearer(first) == bearer(second) == f"Bearer {TOKEN.decode()}"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/71",
        "http://lookaside.fbsbx.com/71",
        "https://lookaside.fbsbx.com:8443/71",
        "https://fbsbx.com.evil.example/71",
        "https://evilfbsbx.com/71",
        "https://lookaside.fbsbx.com@evil.example/71",
        "http://graph.facebook.com/71",
        "http://[::1",
        "",
    ],
)
async def test_the_token_is_not_sent_to_a_server_that_is_not_metas(url: str) -> None:
    wire = Answers(told(url))

    with pytest.raises(FileFailed, match="token is not sent"):
        await CONNECTOR.download(a_call(), "71", wire)

    assert len(wire.requests) == 1


async def test_where_graph_is_somebody_elses_the_token_stays_there() -> None:
    proxy = channel(api_url="https://proxy.example/graph")

    assert await downloaded(told("https://proxy.example/file/71"), there(), through=proxy) == PICTURE
    with pytest.raises(FileFailed, match="token is not sent"):
        await downloaded(told(AT_META), through=proxy)


@pytest.mark.parametrize("file_id", ["", "../me", "71?x=", "71/messages", "\u0667\u0661"])
async def test_an_id_that_is_none_leads_nowhere(file_id: str) -> None:
    with pytest.raises(BadRequest, match="digits"):
        await downloaded(file_id=file_id)


async def test_a_file_that_is_too_large_is_not_fetched() -> None:
    with pytest.raises(BadRequest, match="at most"):
        await downloaded(told(file_size=FILE_BYTES_MAX + 1))


@pytest.mark.parametrize(
    "answers",
    [
        (told(file_size=len(PICTURE) + 1), there()),
        (told(sha256=sha256(b"another").hexdigest()), there()),
        (told(sha256=base64.b64encode(sha256(b"another").digest()).decode()), there()),
        (told(), there(status=404)),
        (told(), there(status=302)),
        (told(), Unclear(reason=Doubt.CUT, bytes_written=9)),
        (told(), NotSent(reason=Unsent.CROWDED)),
        (Unclear(reason=Doubt.OVERSIZED, bytes_written=9),),
        (NotSent(reason=Unsent.ADDRESS_REFUSED),),
        (said([]),),
        (said({}),),
        (said({"url": 7}),),
        (Answered(status=500, body=b"<html>"),),
        (there(b"<html>"),),
    ],
)
async def test_what_is_not_the_whole_file_is_none(answers: tuple[WireAnswer, ...]) -> None:
    with pytest.raises(FileFailed):
        await downloaded(*answers)


async def test_an_error_says_the_code_in_our_words_and_nothing_of_the_person() -> None:
    with pytest.raises(FileFailed) as failed:
        await downloaded(fault(131052))

    assert "131052: the media cannot be fetched" in str(failed.value)
    assert PHONE not in str(failed.value)


@pytest.mark.parametrize("call", [a_call(token=None), a_call(channel(account="main"))])
async def test_a_channel_without_token_or_number_says_so(call: FileCall) -> None:
    with pytest.raises(BadRequest, match="no account"):
        await CONNECTOR.download(call, "71", Answers())


async def test_nothing_shows_the_token_or_the_content() -> None:
    wire = Answers(said({"id": "1"}))
    await CONNECTOR.upload(a_call(), JPEG, wire)

    shown = repr((a_call(), JPEG, wire.requests))

    assert TOKEN.decode() not in shown
    assert "a picture" not in shown
    assert json.dumps(PHONE) not in shown
