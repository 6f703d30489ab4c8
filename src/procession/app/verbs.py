"""Verbs of a desk, callable here or over a line: one declaration for both sides.

A method under `@verb` runs where its desk has its means. A desk at the other end of a line has none: there the same
call is put into words, sent, and its answer (or the error it raised) comes back as if it had run here. Arguments and
answers are what the method's annotations say, in JSON: datetimes and durations as ISO 8601, bytes as base64.
"""

import inspect
from collections.abc import Awaitable, Callable
from functools import cached_property, update_wrapper
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar, cast, get_type_hints

import msgspec

from procession.core import errors
from procession.core.errors import BadRequest, ProcessionError

P = ParamSpec("P")
R = TypeVar("R")


class Line(Protocol):
    """To the desk of an engine that runs elsewhere."""

    async def ask(self, question: bytes) -> bytes: ...


class HasLine(Protocol):
    @property
    def line(self) -> Line | None:
        """None: the verbs run here."""
        ...


D = TypeVar("D", bound=HasLine)
Method = Callable[Concatenate[D, P], Awaitable[R]]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    verb: str
    arguments: msgspec.Raw


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    answer: msgspec.Raw = msgspec.Raw(b"null")
    error: str = ""
    """The name of the error's type; "" where there is an answer."""
    text: str = ""


class Verb:
    """One verb's words: how its arguments and its answer are written and read."""

    def __init__(self, name: str, method: Callable[..., Awaitable[object]]) -> None:
        self.name = name
        self.method = method

    @cached_property
    def _arguments(self) -> type[msgspec.Struct]:
        hints = get_type_hints(self.method)
        fields: list[tuple[str, object] | tuple[str, object, object]] = []
        for parameter in list(inspect.signature(self.method).parameters.values())[1:]:
            hint = hints[parameter.name]
            has_none = parameter.default is inspect.Parameter.empty
            fields.append((parameter.name, hint) if has_none else (parameter.name, hint, parameter.default))
        return msgspec.defstruct(self.name, cast("Any", fields), kw_only=True, forbid_unknown_fields=True)

    @cached_property
    def _answer(self) -> Any:  # noqa: ANN401 (whatever the method's annotation says)
        return get_type_hints(self.method)["return"]

    def question(self, desk: object, *args: object, **kwargs: object) -> bytes:
        bound = inspect.signature(self.method).bind(desk, *args, **kwargs)
        arguments = dict(list(bound.arguments.items())[1:])
        return msgspec.json.encode(Question(verb=self.name, arguments=msgspec.Raw(msgspec.json.encode(arguments))))

    async def answered(self, desk: object, arguments: msgspec.Raw) -> bytes:
        try:
            read = msgspec.json.decode(arguments, type=self._arguments)
        except msgspec.ValidationError as error:
            raise BadRequest(f"{self.name}: {error}") from None
        answer = await self.method(desk, **{name: getattr(read, name) for name in read.__struct_fields__})
        return msgspec.json.encode(Reply(answer=msgspec.Raw(msgspec.json.encode(answer))))

    def read(self, reply: bytes) -> object:
        """What the other side answered; what it raised is raised here."""
        read = msgspec.json.decode(reply, type=Reply)
        if read.error:
            raise _error(read.error)(read.text)
        return msgspec.json.decode(read.answer, type=self._answer)


VERBS: Final[dict[str, Verb]] = {}


def verb(method: Method[D, P, R]) -> Method[D, P, R]:
    own = Verb(method.__name__, method)
    VERBS[own.name] = own

    async def call(desk: D, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if desk.line is None:
            return await method(desk, *args, **kwargs)
        return cast("R", own.read(await desk.line.ask(own.question(desk, *args, **kwargs))))

    update_wrapper(call, method)
    return call


async def answer(desk: HasLine, question: bytes) -> bytes:
    """The engine's side: whatever was asked, there is a reply."""
    try:
        read = msgspec.json.decode(question, type=Question)
        known = VERBS.get(read.verb)
        if known is None:
            raise BadRequest(f"the running engine knows no {read.verb!r}: is it of another version than this command?")
        return await known.answered(desk, read.arguments)
    except msgspec.DecodeError as error:
        return refusal(BadRequest(f"not understood: {error}"))
    except ProcessionError as error:
        return refusal(error)


def refusal(error: ProcessionError) -> bytes:
    return msgspec.json.encode(Reply(error=type(error).__name__, text=str(error)))


def _error(name: str) -> type[ProcessionError]:
    found = getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, ProcessionError) else ProcessionError
