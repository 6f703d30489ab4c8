"""Runs the operator's program that wraps data keys. It is given no shell, and none of our own keys."""

import asyncio
import shlex
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from procession.core.errors import Misconfigured
from procession.core.limits import KEY_COMMAND_WAIT

KEY_COMMAND: Final = "PROCESSION_MASTER_KEY_COMMAND"
_OURS: Final = frozenset({"PROCESSION_MASTER_KEY", "PROCESSION_MASTER_KEY_OLD"})


def key_program(command: str, environment: Mapping[str, str]) -> Callable[[str, bytes], Awaitable[bytes]]:
    """Answers what runs `COMMAND VERB` with this standard input. Raises Misconfigured."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Misconfigured(f"{KEY_COMMAND} cannot be read: {error}") from None
    if not words:
        raise Misconfigured(f"{KEY_COMMAND} names no program")
    given = {name: value for name, value in environment.items() if name not in _OURS}

    async def run(verb: str, plain: bytes) -> bytes:
        return await asyncio.to_thread(partial(_run, [*words, verb], plain, given))

    return run


def _run(words: list[str], plain: bytes, environment: Mapping[str, str]) -> bytes:
    """What it says on standard error goes to ours; what it answers is never shown, since it may be a key."""
    wait = KEY_COMMAND_WAIT.total_seconds()
    try:
        ran = subprocess.run(  # noqa: S603 - the operator's own program, without a shell
            words, input=plain, stdout=subprocess.PIPE, env=dict(environment), timeout=wait, check=False
        )
    except subprocess.TimeoutExpired:
        raise Misconfigured(f"{KEY_COMMAND} {words[-1]} did not answer within {wait:.0f} s") from None
    except OSError as error:
        raise Misconfigured(f"{KEY_COMMAND}: {words[0]} cannot be run: {error.strerror}") from None
    if ran.returncode != 0:
        raise Misconfigured(f"{KEY_COMMAND} {words[-1]} failed with status {ran.returncode}")
    return ran.stdout
