"""A WhatsApp channel's settings. Its `account` is the phone number's id at Meta; its secret `token` may send.

waba                 = "1029384756"      # the WhatsApp Business Account: what names no phone number is routed by it
display_phone_number = "+49 30 1234567"  # likewise, for events that name the number only as people write it
api_url              = "https://graph.facebook.com"
version              = "v25.0"           # of the Graph API
timeout              = 15                # seconds, of one call
messages_per_second  = 80                # what Meta lets this number send; 20 where the app on a phone shares it
pair_every           = 6                 # seconds: one send to the same person in so long, in the long run
pair_burst           = 45                # so many at once, on credit
echo_pause           = 3600              # seconds that a conversation rests when somebody answers on the phone
reorder_window       = 0                 # seconds to wait for an earlier one that comes late
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from procession.connectors.known import check_known
from procession.connectors.terms import SEND_TERMS
from procession.core.errors import Misconfigured
from procession.core.pace import Pace
from procession.ports.directory import Setting

CHANNEL_SETTINGS: Final = SEND_TERMS | {
    *("waba", "display_phone_number", "api_url", "version", "timeout"),
    *("messages_per_second", "pair_every", "pair_burst", "echo_pause", "reorder_window"),
}
_API_URL: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]{1,253}(?:/[A-Za-z0-9._/-]*)?", re.ASCII)
_VERSION: Final = re.compile(r"v[0-9]{1,3}\.[0-9]{1,2}", re.ASCII)
_ID: Final = re.compile(r"[0-9]{1,32}", re.ASCII)
_PUNCTUATION: Final = re.compile(r"[ ()./+-]")
_TIMEOUT_MAX: Final = 60.0
_PAUSE_MAX: Final = timedelta(days=30)
_WINDOW_MAX: Final = timedelta(minutes=5)
"""An event that waits for a late one is not answered meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """The settings of one channel, read."""

    waba: str
    display: str
    """Digits only."""
    url: str
    timeout: timedelta
    pace: Pace
    echo_pause: timedelta
    reorder_window: timedelta


def read_settings(settings: Mapping[str, Setting]) -> ChannelSettings:
    """`Misconfigured`, if a setting is unknown or wrong."""
    check_known("channel", "whatsapp", settings, CHANNEL_SETTINGS)
    return ChannelSettings(
        waba=_id("waba", settings),
        display=_display(settings),
        url=f"{_api_url(settings)}/{_version(settings)}",
        timeout=_timeout(settings),
        pace=Pace(
            per_second=_whole("messages_per_second", settings, 80, 1_000),
            pair_every=_duration("pair_every", settings, timedelta(seconds=6), timedelta(hours=1)),
            pair_burst=_whole("pair_burst", settings, 45, 45),
        ),
        echo_pause=_duration("echo_pause", settings, timedelta(hours=1), _PAUSE_MAX),
        reorder_window=_duration("reorder_window", settings, timedelta(0), _WINDOW_MAX),
    )


def is_id(text: str) -> bool:
    """Whether it may stand in a path of Graph's: an id is digits, and nothing that could lead elsewhere."""
    return _ID.fullmatch(text) is not None


def digits_of(text: str) -> str:
    """A phone number as people write it, without what they put between its digits; "" if it is none."""
    # The nought in brackets is for those who call from within the country.
    digits = _PUNCTUATION.sub("", text.replace("(0)", ""))
    return digits if is_id(digits) else ""


def _id(name: str, settings: Mapping[str, Setting]) -> str:
    value = settings.get(name, "")
    if not isinstance(value, str) or (value and not is_id(value)):
        raise Misconfigured(f"{name} = {value!r}: it must be an id of Meta's, written as text: digits in quotes")
    return value


def _display(settings: Mapping[str, Setting]) -> str:
    value = settings.get("display_phone_number", "")
    digits = digits_of(value) if isinstance(value, str) else ""
    if value != "" and not digits:
        raise Misconfigured(f"display_phone_number = {value!r}: it must be a phone number, written as text")
    return digits


def _api_url(settings: Mapping[str, Setting]) -> str:
    value = settings.get("api_url", "https://graph.facebook.com")
    if not isinstance(value, str) or not _API_URL.fullmatch(value):
        raise Misconfigured(
            f"api_url = {value!r}: it must be an http(s) URL without a query, https://graph.facebook.com"
        )
    return value.rstrip("/")


def _version(settings: Mapping[str, Setting]) -> str:
    value = settings.get("version", "v25.0")
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        raise Misconfigured(f"version = {value!r}: it must be a version of the Graph API, like v25.0")
    return value


def _timeout(settings: Mapping[str, Setting]) -> timedelta:
    value = settings.get("timeout", 15.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _TIMEOUT_MAX:
        raise Misconfigured(f"timeout = {value!r}: it must be seconds, up to {_TIMEOUT_MAX:.0f}")
    return timedelta(seconds=value)


def _duration(name: str, settings: Mapping[str, Setting], otherwise: timedelta, most: timedelta) -> timedelta:
    value = settings.get(name, otherwise.total_seconds())
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most.total_seconds():
        raise Misconfigured(f"{name} = {value!r}: it must be seconds, from 0 to {most.total_seconds():.0f}")
    return timedelta(seconds=value)


def _whole(name: str, settings: Mapping[str, Setting], otherwise: int, most: int) -> int:
    value = settings.get(name, otherwise)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise Misconfigured(f"{name} = {value!r}: it must be a whole number from 1 to {most}")
    return value
