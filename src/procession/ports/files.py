"""Files that a provider keeps: what a person sent along, and what is to be sent.

A handler that wants the bytes of a voice note would need the channel's own credential. It never gets that: it asks
here, and the credential is opened for the one call. A repeat does no harm on either side.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from procession.core.ids import ChannelName, TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    content: bytes = field(repr=False)
    mime_type: str
    name: str = ""
    """As the receiver sees it, where the provider shows names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Whose channel it is for, and how long it may take."""

    tenant: TenantId
    channel: ChannelName
    deadline: timedelta
    may_begin: Callable[[], bool]
    """Asked immediately before the first byte of each call: False means that the turn is another's by now."""


class Files(Protocol):
    async def upload(self, errand: Errand, file: File) -> str:
        """Hand the file to the channel's provider. Answers the provider's id of it.

        Raises BadRequest for a channel that keeps no files, and for what the provider could never take; FileFailed,
        with what the provider says, if it did not work now.
        """
        ...

    async def download(self, errand: Errand, file_id: str) -> bytes:
        """The bytes of a file that the provider keeps for the channel: at most FILE_BYTES_MAX. Raises as `upload`."""
        ...
