"""Media: what a person sent along is fetched, and what is to be sent is uploaded, with the channel's own token.

A webhook names media by an id that lives 7 days; the id is asked for a URL that lives 5 minutes, and there the bytes
are, for whoever shows the same token. That URL comes from Graph's answer: it is looked at before the token goes there.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Final, NoReturn
from urllib.parse import urlsplit

from procession.connectors.whatsapp.codes import words_of
from procession.connectors.whatsapp.perform import TOKEN, fault_of, read_answer
from procession.connectors.whatsapp.settings import ChannelSettings, is_id, read_settings
from procession.core.errors import BadRequest, FileFailed
from procession.core.limits import FILE_BYTES_MAX
from procession.ports.connector import FileCall
from procession.ports.files import File
from procession.ports.wire import Answered, NotSent, WireAnswer, WirePort, WireRequest

SIZES_MAX: Final[Mapping[str, int]] = {
    "image/jpeg": 5 * 1024 * 1024,
    "image/png": 5 * 1024 * 1024,
    # Of a sticker that moves; one that does not may have 100 KB, which Graph knows better.
    "image/webp": 500 * 1024,
}
"""What Meta's page of supported media says; of anything else it takes as much as we hold, or more."""
_MIME: Final = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,100}(?:; ?[a-z]{1,20}=[a-z0-9.+-]{1,40})?", re.ASCII)
_NAME: Final = re.compile(r'[^\x00-\x1f\x7f"\\/]{1,240}')
_META: Final = "graph.facebook.com"
_MEDIA_HOSTS: Final = (".fbsbx.com", ".whatsapp.net", ".fbcdn.net")
"""Where Meta keeps media, beside Graph itself."""
_AGENT: Final = ("user-agent", "procession")
"""Meta's media servers answer a page of HTML to whoever names none."""


async def upload(call: FileCall, file: File, wire: WirePort) -> str:
    settings, token = _channel(call)
    _check_file(file)
    content_type, body = _form(file)
    answer = await wire.call(
        WireRequest(
            method="POST",
            url=f"{settings.url}/{call.channel.account}/media",
            headers=(("content-type", content_type), _bearer(token)),
            body=body,
            deadline=call.deadline,
            may_begin=call.may_begin,
        )
    )
    own = _document(answer, "upload").get("id")
    if not isinstance(own, str) or not is_id(own):
        raise FileFailed("upload: Graph took it, but answered no id")
    return own


async def download(call: FileCall, file_id: str, wire: WirePort) -> bytes:
    settings, token = _channel(call)
    if not is_id(file_id):
        raise BadRequest("media have an id of digits: turn.event.media")
    told = await wire.call(
        WireRequest(
            method="GET",
            # With the number named, Graph hands out no media that came to another one.
            url=f"{settings.url}/{file_id}?phone_number_id={call.channel.account}",
            headers=(_bearer(token), _AGENT),
            deadline=min(call.deadline, settings.timeout),
            may_begin=call.may_begin,
        )
    )
    where = _document(told, "download")
    url = _url(where, settings)
    size = where.get("file_size")
    if isinstance(size, int) and size > FILE_BYTES_MAX:
        raise BadRequest(f"the file has {size:,} bytes; at most {FILE_BYTES_MAX:,} are fetched")
    answer = await wire.call(
        WireRequest(
            method="GET",
            url=url,
            headers=(_bearer(token), _AGENT),
            deadline=call.deadline,
            may_begin=call.may_begin,
        )
    )
    content = _content(answer)
    _check_content(content, where)
    return content


# --- the channel ---


def _channel(call: FileCall) -> tuple[ChannelSettings, bytes]:
    token = call.secrets.get(TOKEN, b"").strip()
    if not is_id(call.channel.account) or not token:
        raise BadRequest(
            f"channel {call.channel.name!r} has no account, or no {TOKEN}: `procession channel set` says them"
        )
    return read_settings(call.channel.settings), token


def _bearer(token: bytes) -> tuple[str, str]:
    return "authorization", f"Bearer {token.decode('latin-1')}"


def _url(where: Mapping[str, object], settings: ChannelSettings) -> str:
    """The token goes to Graph, and to Meta's own media servers if it is Meta's Graph; nowhere else."""
    url = where.get("url")
    if not isinstance(url, str):
        raise FileFailed("download: Graph knows the file, but says no URL")
    if not _may_have_token(url, settings):
        raise FileFailed("download: Graph names a server that is not Meta's: the token is not sent there")
    return url


def _may_have_token(url: str, settings: ChannelSettings) -> bool:
    try:
        said, own = urlsplit(url), urlsplit(settings.url)
        if (said.scheme, said.hostname, said.port) == (own.scheme, own.hostname, own.port):
            return True
        at_meta = said.scheme == "https" and said.port is None and (said.hostname or "").endswith(_MEDIA_HOSTS)
    except ValueError:
        return False
    return at_meta and own.hostname == _META


# --- there ---


def _check_file(file: File) -> None:
    if not _MIME.fullmatch(file.mime_type):
        raise BadRequest(f"mime_type={file.mime_type!r}: write what it is, 'image/jpeg'")
    if file.name and not _NAME.fullmatch(file.name):
        raise BadRequest("a file's name has up to 240 characters, without slashes, quotes and line ends")
    if not file.content:
        raise BadRequest("the file is empty")
    most = SIZES_MAX.get(file.mime_type.partition(";")[0], FILE_BYTES_MAX)
    if len(file.content) > most:
        raise BadRequest(f"{file.mime_type} of {len(file.content):,} bytes: WhatsApp takes at most {most:,}")


def _form(file: File) -> tuple[str, bytes]:
    # Derived from the content, which would have to hold its own digest to break it.
    boundary = f"procession-{sha256(file.content).hexdigest()}"
    fields = (("messaging_product", "whatsapp"), ("type", file.mime_type))
    parts = [
        f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields
    ]
    parts.append(
        f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="{file.name or "file"}"\r\n'
        f"content-type: {file.mime_type}\r\n\r\n"
    )
    body = "".join(parts).encode() + file.content + f"\r\n--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body


# --- and back ---


def _document(answer: WireAnswer, what: str) -> Mapping[str, object]:
    if not isinstance(answer, Answered):
        _not_answered(answer, what)
    read = read_answer(answer.body)
    fault = fault_of(read)
    if fault is not None:
        raise FileFailed(f"{what}: {fault.code}: {words_of(fault.code)}")
    if not 200 <= answer.status < 300 or not isinstance(read, dict):
        raise FileFailed(f"{what}: Graph answers HTTP {answer.status}, and nothing of its own")
    return read


def _content(answer: WireAnswer) -> bytes:
    if not isinstance(answer, Answered):
        _not_answered(answer, "download")
    if answer.status != 200:
        # Its URL lives five minutes; the next try asks for a new one.
        raise FileFailed(f"download: the file's server answers HTTP {answer.status}")
    return answer.body


def _check_content(content: bytes, where: Mapping[str, object]) -> None:
    size, digest = where.get("file_size"), _digest(where.get("sha256"))
    whole = not isinstance(size, int) or size == len(content)
    if not whole or (digest is not None and not hmac.compare_digest(digest, sha256(content).digest())):
        raise FileFailed("download: what came is not the whole file")


def _digest(said: object) -> bytes | None:
    """Graph writes it in hex, webhooks in base64; None: it is neither."""
    if not isinstance(said, str):
        return None
    try:
        found = bytes.fromhex(said) if len(said) == 64 else base64.b64decode(said, validate=True)
    except (ValueError, binascii.Error):
        return None
    return found if len(found) == sha256().digest_size else None


def _not_answered(answer: WireAnswer, what: str) -> NoReturn:
    assert not isinstance(answer, Answered)
    how = "not sent" if isinstance(answer, NotSent) else "no whole answer"
    raise FileFailed(f"{what}: {how}: {answer.reason}")
