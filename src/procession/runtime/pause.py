"""A wait of a bounded length, for whoever repeats something. Nothing else waits for time: stages wait for a bell."""

import asyncio
from datetime import timedelta


async def pause(duration: timedelta) -> None:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    timer = loop.call_later(duration.total_seconds(), _end, over)
    try:
        await over
    finally:
        timer.cancel()


def _end(over: "asyncio.Future[None]") -> None:
    if not over.done():
        over.set_result(None)
