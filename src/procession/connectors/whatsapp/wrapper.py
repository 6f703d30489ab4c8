"""Takes a body of Meta's apart, element by element, each byte for byte as it was sent, and wraps one up again.

    {object, entry: [{id: WABA, time?, changes: [{field, value: {metadata, contacts, messages | statuses | ...}}]}]}

One body may mix phone numbers and accounts, so that nothing is decided before the elements are apart. What a body says
around an element (whose number it came to, how the person is called) is kept beside it, under the key `procession`;
from that an element that was kept can be made a body of its own again, which reads as the first did.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from procession.connectors.json_body import NotJson, read_json
from procession.connectors.whatsapp.doubled import doubled_at_top, has_doubled
from procession.connectors.whatsapp.names import CONTACT_FIELDS, ContactBook, names_in, sender_of
from procession.core.limits import ELEMENTS_MAX
from procession.ports.connector import Unreadable

AROUND: Final = "procession"
"""The key under which an element's surroundings stand."""
OBJECT: Final = "whatsapp_business_account"
MESSAGES: Final = "messages"
STATUSES: Final = "statuses"
ERRORS: Final = "errors"
ECHOES: Final = "message_echoes"
HISTORY: Final = "history"
WHOLE: Final = ""
"""The part of a field that is one event as it is."""
AROUND_BYTES_MAX: Final = 4 * 1024
"""Of each thing that is kept beside every element: ten times what Meta sends. Ten thousand elements may share one of
these, so that without a bound three signed megabytes would become gigabytes here and in the store.
"""
_FIELD_CHARS_MAX: Final = 256
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "messages": (MESSAGES, STATUSES, ERRORS),
    "smb_message_echoes": (ECHOES, ERRORS),
    "message_echoes": (ECHOES, ERRORS),
    "history": (HISTORY, MESSAGES, ERRORS),
}
"""The lists of a field whose elements are taken apart; any other field is one event."""
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A JSON value, read, and its bytes."""

    read: object
    raw: bytes

    def fields(self) -> "dict[str, Pair]":
        """Those of an object; of two of one name the last, as every parser here does it."""
        if not isinstance(self.read, dict):
            return {}
        return {name: Pair(read=self.read[name], raw=bytes(raw)) for name, raw in _FIELDS.decode(self.raw).items()}

    def parts(self) -> "list[Pair] | None":
        if not isinstance(self.read, list):
            return None
        raws = _LIST.decode(self.raw)
        return [Pair(read=read, raw=bytes(raw)) for read, raw in zip(self.read, raws, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a body says around an element."""

    field: str
    entry: Pair | None
    """`entry.id`: the account, as a rule."""
    time: Pair | None
    metadata: Pair | None = None
    contact: Pair | None = None
    chunk: Pair | None = None
    """Of a history: which part of it this is."""

    @property
    def waba(self) -> str:
        return self.entry.read if self.entry is not None and isinstance(self.entry.read, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    part: str
    fields: Mapping[str, object]
    raw: bytes
    around: Around

    def body(self) -> bytes:
        """A whole body that holds nothing but this element."""
        return _wrapped(self.around, self.part, self.raw)

    def kept(self) -> bytes:
        """The element's own bytes, with what stood around it in one more key."""
        around = (b'"%s":' % AROUND.encode()) + _told(self.around, self.part)
        return self.raw[:-1] + (b"," if self.fields else b"") + around + b"}"


def read_elements(body: bytes) -> list[Element | Unreadable]:
    """All of a body, in its order; never raises, whatever the bytes."""
    parsed = read_json(body)
    if isinstance(parsed, NotJson):
        return [Unreadable(reason=parsed.reason, body=body)]
    found: list[Element | Unreadable] = []
    for element in _of_body(Pair(read=parsed, raw=body)):
        found.append(element)
        if len(found) > ELEMENTS_MAX:
            return [Unreadable(reason=f"more than {ELEMENTS_MAX} elements", body=body)]
    return found


# --- apart ---


def _of_body(body: Pair) -> Iterator[Element | Unreadable]:
    doubled = has_doubled(body.raw)
    fields = body.fields()
    if AROUND in fields and "entry" not in fields:
        again = _unkept(body, fields[AROUND])
        if again is not None:
            yield from _of_body(again)
            return
    entries = fields["entry"].parts() if "entry" in fields else None
    if entries is None or "object" not in fields or fields["object"].read != OBJECT:
        yield Unreadable(reason=f"it is not a body of {OBJECT}", body=body.raw)
    elif doubled and (twice := doubled_at_top(body.raw)):
        yield Unreadable(reason=_twice(twice), body=body.raw)
    else:
        for entry in entries:
            yield from _of_entry(entry, doubled=doubled)


def _of_entry(entry: Pair, *, doubled: bool) -> Iterator[Element | Unreadable]:
    fields = entry.fields()
    changes = fields["changes"].parts() if "changes" in fields else None
    reason = (_twice(doubled_at_top(entry.raw)) if doubled else "") or _too_long(fields, "id", "time")
    if changes is None or reason:
        yield Unreadable(reason=reason or "an entry has no changes", body=_in_entries(entry.raw))
        return
    around = Around(field="", entry=fields.get("id"), time=fields.get("time"))
    for change in changes:
        yield from _of_change(change, around, doubled=doubled)


def _of_change(change: Pair, outer: Around, *, doubled: bool) -> Iterator[Element | Unreadable]:
    fields = change.fields()
    field, value = fields.get("field"), fields.get("value")
    reason = _twice(doubled_at_top(change.raw)) if doubled else ""
    if field is None or not isinstance(field.read, str) or value is None or not isinstance(value.read, dict):
        reason = "a change has no field and value"
    elif doubled and not reason:
        reason = _twice(doubled_at_top(value.raw))
    inner = {} if value is None or reason else value.fields()
    # Its characters are counted: it is written anew beside each element, where a character may take twelve bytes.
    if field is not None and isinstance(field.read, str) and len(field.read) > _FIELD_CHARS_MAX:
        reason = reason or f"field has more than {_FIELD_CHARS_MAX} characters"
    reason = reason or _too_long(inner, "metadata")
    if reason or field is None or value is None:
        yield Unreadable(reason=reason, body=_in_entries(_in_entry(outer, change.raw)))
        return
    around = Around(field=str(field.read), entry=outer.entry, time=outer.time, metadata=inner.get("metadata"))
    yield from _of_value(value, inner, around, doubled=doubled)


def _of_value(
    value: Pair, fields: Mapping[str, Pair], around: Around, *, doubled: bool
) -> Iterator[Element | Unreadable]:
    if around.field not in _PARTS:
        yield _element(value, WHOLE, around, doubled=doubled)
        return
    known = [part for part in _PARTS[around.field] if part in fields]
    if not known:
        reason = f"it holds none of {', '.join(_PARTS[around.field])}"
        yield Unreadable(reason=reason, body=_wrapped(around, WHOLE, value.raw))
    contacts = _Contacts(fields.get("contacts"))
    for part in known:
        pairs = fields[part].parts()
        if pairs is None:
            # That part alone: what else the value holds is read, and read once.
            body = _wrapped(around, WHOLE, _value(around, **{part: fields[part].raw}))
            yield Unreadable(reason=f"{part} is no list", body=body)
            continue
        for pair in pairs:
            if part == HISTORY:
                yield from _of_chunk(pair, around, doubled=doubled)
            else:
                own = contacts.of(pair, sole=part == MESSAGES and len(pairs) == 1)
                yield _element(pair, part, _with(around, contact=own), doubled=doubled)


def _of_chunk(chunk: Pair, around: Around, *, doubled: bool) -> Iterator[Element | Unreadable]:
    """A history comes in chunks of threads: each thread is one person's."""
    fields = chunk.fields()
    threads = fields["threads"].parts() if "threads" in fields else None
    if not threads or _too_long(fields, "metadata") or (doubled and doubled_at_top(chunk.raw)):
        yield _element(chunk, HISTORY, around, doubled=doubled)
        return
    beside = _with(around, chunk=fields.get("metadata") or Pair(read=None, raw=b"null"))
    for thread in threads:
        yield _element(thread, HISTORY, beside, doubled=doubled)


def _element(pair: Pair, part: str, around: Around, *, doubled: bool) -> Element | Unreadable:
    reason = "" if isinstance(pair.read, dict) else "an element is no object"
    if doubled and not reason:
        beside = (around.metadata, around.contact, around.chunk, pair.fields().get("system"))
        raws = (pair.raw, *(each.raw for each in beside if each is not None))
        reason = next((said for raw in raws if (said := _twice(doubled_at_top(raw)))), "")
    if isinstance(pair.read, dict) and AROUND in pair.read:
        reason = f"it has a field {AROUND!r}, which is ours"
    if reason or not isinstance(pair.read, dict):
        return Unreadable(reason=reason, body=_wrapped(around, part, pair.raw))
    return Element(part=part, fields=pair.read, raw=pair.raw, around=around)


class _Contacts:
    """Those of one value: each message is one person's, and a value may hold a thousand of both."""

    def __init__(self, contacts: Pair | None) -> None:
        parts = (contacts.parts() if contacts is not None else None) or []
        self._parts = [part for part in parts if len(part.raw) <= AROUND_BYTES_MAX]
        self._book = ContactBook(
            [names_in(part.read, CONTACT_FIELDS) if isinstance(part.read, dict) else () for part in self._parts]
        )

    def of(self, pair: Pair, *, sole: bool) -> Pair | None:
        if not self._parts or not isinstance(pair.read, dict):
            return None
        at = self._book.find(sender_of(pair.read), sole=sole)
        return None if at is None else self._parts[at]


def _with(around: Around, *, contact: Pair | None = None, chunk: Pair | None = None) -> Around:
    return Around(
        field=around.field,
        entry=around.entry,
        time=around.time,
        metadata=around.metadata,
        contact=contact,
        chunk=chunk,
    )


def _twice(names: frozenset[str]) -> str:
    # A parser that takes the first would read another value than ours, which takes the last.
    return f"{', '.join(sorted(names)[:4])!r} is there twice" if names else ""


def _too_long(fields: Mapping[str, Pair], *names: str) -> str:
    for name in names:
        if name in fields and len(fields[name].raw) > AROUND_BYTES_MAX:
            return f"{name} has more than {AROUND_BYTES_MAX} bytes"
    return ""


# --- together ---


def _wrapped(around: Around, part: str, raw: bytes) -> bytes:
    """A body with one element; what it needs around it is put around it again."""
    value = raw
    if part == HISTORY and around.chunk is not None:
        raw = _object(metadata=_raw(around.chunk), threads=_list(raw))
    if part != WHOLE:
        contacts = None if around.contact is None else _list(around.contact.raw)
        value = _value(around, contacts=contacts, **{part: _list(raw)})
    change = _object(field=json.dumps(around.field).encode(), value=value)
    return _in_entries(_in_entry(around, change))


def _value(around: Around, **parts: bytes | None) -> bytes:
    return _object(messaging_product=b'"whatsapp"', metadata=_raw(around.metadata), **parts)


def _in_entry(around: Around, change: bytes) -> bytes:
    return _object(id=_raw(around.entry), time=_raw(around.time), changes=_list(change))


def _in_entries(entry: bytes) -> bytes:
    return _object(object=json.dumps(OBJECT).encode(), entry=_list(entry))


def _told(around: Around, part: str) -> bytes:
    """What stands around an element, as the one key that is added to it."""
    return _object(
        field=json.dumps(around.field).encode(),
        part=json.dumps(part).encode(),
        waba=_raw(around.entry),
        time=_raw(around.time),
        metadata=_raw(around.metadata),
        contact=_raw(around.contact),
        chunk=_raw(around.chunk),
    )


def _unkept(body: Pair, around: Pair) -> Pair | None:
    """The inverse of `Element.kept`: ingress sets such a payload aside when it is too old, or its tenant rests."""
    fields = around.fields()
    field, part = fields.get("field"), fields.get("part")
    tail = b'"%s":%s}' % (AROUND.encode(), around.raw)
    if field is None or part is None or not isinstance(field.read, str) or not isinstance(part.read, str):
        return None
    if not body.raw.endswith(tail):
        return None
    inner = body.raw.removesuffix(tail).removesuffix(b",") + b"}"
    outer = Around(
        field=field.read,
        entry=fields.get("waba"),
        time=fields.get("time"),
        metadata=fields.get("metadata"),
        contact=fields.get("contact"),
        chunk=fields.get("chunk"),
    )
    raw = _wrapped(outer, part.read, inner)
    read = read_json(raw)
    # What it holds was read before, so that only what we never kept is no JSON here.
    return None if isinstance(read, NotJson) else Pair(read=read, raw=raw)


def _raw(pair: Pair | None) -> bytes | None:
    return None if pair is None else pair.raw


def _list(raw: bytes) -> bytes:
    return b"[" + raw + b"]"


def _object(**fields: bytes | None) -> bytes:
    said = [json.dumps(name).encode() + b":" + raw for name, raw in fields.items() if raw is not None]
    return b"{" + b",".join(said) + b"}"
