"""Channels whose sends would wait for statuses, if any had ever come: their gates are shorter until the first one.

Without statuses nothing tells that a phone has shown a reply, and no doubt is ever proven; so somebody has to know.
"""

from collections.abc import Mapping
from datetime import timedelta

from procession.core.effect import Receipt
from procession.core.errors import Misconfigured
from procession.ports.connector import Outbound
from procession.ports.console import Console
from procession.ports.directory import Channel, Snapshot


async def silent_channels(
    console: Console, snapshot: Snapshot, connectors: Mapping[str, Outbound]
) -> Mapping[str, timedelta]:
    """By their names (`acme/main`), with what a gate waits there instead."""
    shown = await console.shown()
    found: dict[str, timedelta] = {}
    for key, channel in sorted(snapshot.channels.items()):
        wait = None if key in shown or not channel.active else _unshown(channel, connectors)
        if wait is not None:
            found[f"{channel.tenant}/{channel.name}"] = wait
    return found


def _unshown(channel: Channel, connectors: Mapping[str, Outbound]) -> timedelta | None:
    connector = connectors.get(channel.connector)
    if connector is None:
        return None
    try:
        gates = [connector.terms(channel.settings, action).gate for action in connector.actions()]
    except Misconfigured:
        # Its own trouble, which `perform` tells.
        return None
    waits = [gate.unshown for gate in gates if gate.unshown is not None and gate.receipt > Receipt.ACCEPTED]
    return max(waits, default=None)
