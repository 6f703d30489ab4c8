"""The media that a simulated Graph keeps: uploaded to a number, or sent to it, and handed out to that number only."""

import re
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Final

from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.refusal import Refusal, invalid, missing, no_such_object

_PART: Final = re.compile(
    rb'content-disposition: form-data; name="(\w+)"[^\r]*\r\n(?:content-type: [^\r]*\r\n)?\r\n', re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    number: Number
    mime_type: str
    content: bytes


class Shelf:
    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._ids = count(1)

    def keep(self, number: Number, mime_type: str, content: bytes) -> str:
        """As if a person had sent it to the number: what a webhook would name."""
        own = f"7{next(self._ids):014d}"
        self._kept[own] = Kept(number=number, mime_type=mime_type, content=content)
        return own

    def take(self, number: Number, form: bytes) -> str | Refusal:
        """An upload: `multipart/form-data`, whose first line is its boundary."""
        parts = _parts(form)
        if parts.get("messaging_product") != b"whatsapp":
            return missing("messaging_product")
        if "file" not in parts or "type" not in parts:
            return missing("file" if "file" not in parts else "type")
        if not parts["file"]:
            return invalid("the file is empty")
        return self.keep(number, parts["type"].decode("latin-1"), parts["file"])

    def find(self, number: Number, own: str) -> Kept | Refusal:
        kept = self._kept.get(own)
        return no_such_object(own) if kept is None or kept.number != number else kept

    def owner(self, own: str) -> Number | None:
        kept = self._kept.get(own)
        return None if kept is None else kept.number


def told(own: str, kept: Kept, host: str) -> dict[str, object]:
    return {
        "messaging_product": "whatsapp",
        "url": f"http://{host}/media/{own}",
        "mime_type": kept.mime_type,
        "sha256": sha256(kept.content).hexdigest(),
        "file_size": len(kept.content),
        "id": own,
    }


def _parts(form: bytes) -> dict[str, bytes]:
    boundary, _, _ = form.partition(b"\r\n")
    found: dict[str, bytes] = {}
    for part in form.split(boundary)[1:] if boundary else ():
        head = _PART.search(part)
        if head is not None:
            found[head[1].decode("latin-1")] = part[head.end() :].removesuffix(b"\r\n")
    return found
