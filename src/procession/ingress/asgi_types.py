"""The face between the server and what it serves: ASGI 3, the part of it that HTTP needs.

Values are `object`: whatever a peer or an application put there is looked at before it is used.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

Scope: TypeAlias = dict[str, object]
Receive: TypeAlias = Callable[[], Awaitable[dict[str, object]]]
Send: TypeAlias = Callable[[Mapping[str, object]], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers: TypeAlias = list[tuple[bytes, bytes]]
