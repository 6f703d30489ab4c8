"""What a handler hands over, checked; whatever is wrong is said in the words of the call that it made."""

from procession.core.errors import TurnMisused
from procession.lanes.event import Media
from procession.ports.files import File
from procession.ports.vault import SecretName


def reason_of(reason: str, verb: str) -> str:
    if not isinstance(reason, str) or not reason.strip():
        raise TurnMisused(f"turn.{verb}(reason): say why, an operator will read it")
    return reason


def secret_name(name: str) -> SecretName:
    if not isinstance(name, str) or not name or "/" in name:
        raise TurnMisused(f"turn.secret({name!r}): a handler may open secrets that its tenant named, like 'model-key'")
    return SecretName(name)


def media_id(media: Media | str | None) -> str:
    own = media.id if isinstance(media, Media) else media
    if not isinstance(own, str) or not own:
        raise TurnMisused(
            "turn.download(media): nothing was sent along with this event; look at turn.event.media first"
        )
    return own


def file_of(content: bytes, mime_type: str, filename: str) -> File:
    if not isinstance(content, bytes) or not isinstance(mime_type, str) or not isinstance(filename, str):
        raise TurnMisused("turn.upload(content, mime_type): bytes, and what they are, like 'image/jpeg'")
    return File(content=content, mime_type=mime_type, name=filename)
