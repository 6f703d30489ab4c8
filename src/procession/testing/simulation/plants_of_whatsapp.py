"""Planted bugs of the WhatsApp connector, and of what it asks of stores: found in WhatsApp's worlds."""

from typing import Final

from procession.testing.simulation.planted import Plant


def _plant(name: str, what: str, file: str, old: str, new: str, store: str = "") -> Plant:
    return Plant(name=name, what=what, file=file, old=old, new=new, store=store, world="whatsapp")


_SENDS: Final = (
    _plant(
        "whatsapp-resend-on-timeout",
        "a call to Graph that got no whole answer is taken for one that was not made",
        "connectors/whatsapp/perform.py",
        '            return Uncertain(reason=f"no whole answer: {answer.reason}", after=_ASK_AGAIN)\n',
        '            return Deferred(after=_ASK_AGAIN, reason="no whole answer")\n',
    ),
    _plant(
        "whatsapp-resend-on-5xx",
        "what Graph itself calls unclear is taken for a refusal, and sent again",
        "connectors/whatsapp/perform.py",
        "        case Says.UNCLEAR:\n            return Uncertain(reason=reason, after=_ASK_AGAIN)\n",
        "        case Says.UNCLEAR:\n            return Deferred(reason=reason, after=_ASK_AGAIN)\n",
    ),
    _plant(
        "whatsapp-garbage-is-not-taken",
        "a 200 that holds no id is taken for a proof that nothing was taken",
        "connectors/whatsapp/perform.py",
        '    return Uncertain(reason=f"HTTP {status}, and neither',
        '    return Deferred(reason=f"HTTP {status}, and neither',
    ),
    _plant(
        "whatsapp-status-decides",
        "Graph's HTTP status decides, and not its code: throttling comes with 400",
        "connectors/whatsapp/perform.py",
        "    fault = fault_of(read)\n    if fault is None:\n",
        "    fault = fault_of(read)\n    if 400 <= answer.status < 500:\n"
        '        return Refused(code=str(answer.status), reason="it is our fault")\n    if fault is None:\n',
    ),
    _plant(
        "whatsapp-halt-is-refusal",
        "what was sent with a token that has been replaced is given up",
        "connectors/whatsapp/perform.py",
        "            return Halted(reason=reason, code=str(number), scope=code.scope)\n",
        "            return Refused(reason=reason, code=str(number))\n",
    ),
    _plant(
        "whatsapp-sent-without-our-id",
        "Graph is not told our id, so that no status can prove a send",
        "connectors/whatsapp/perform.py",
        "    if call.effect.action in HARMLESS:\n        return payload\n    inner",
        "    if payload:\n        return payload\n    inner",
    ),
    _plant(
        "credential-by-name",
        "a secret that was opened for a channel is used for every channel of that name",
        "outbox/outlets.py",
        "        return {field: await self._vault.open(channel.tenant, name) for field, name in "
        "channel.secrets.items()}\n",
        '        kept = self.__dict__.setdefault("opened", {})\n'
        "        for name in channel.secrets.values():\n"
        "            kept[name] = kept.get(name) or await self._vault.open(channel.tenant, name)\n"
        "        return {field: kept[name] for field, name in channel.secrets.items()}\n",
    ),
    _plant(
        "halt-ignored",
        "a tenant whose token is refused goes on sending",
        "storage/memory/outlets.py",
        "    held = [outlet for outlet in outlets_of(tables, effect) if is_held(outlet, now)]\n",
        "    held: list[OutletRow] = []\n",
        store="memory",
    ),
    _plant(
        "pair-limit-ignored",
        "one person is sent as much as there is",
        "storage/memory/outlets.py",
        "    if pair_at > slot:\n",
        "    if pair_at > slot and pair_at < 0:\n",
        store="memory",
    ),
    _plant(
        "gate-of-none",
        "the next bubble goes when the one before was accepted, whatever the handset shows",
        "storage/memory/rest.py",
        "    return effect.failed or effect.receipt >= effect.draft.terms.gate.receipt\n",
        "    return True\n",
        store="memory",
    ),
    _plant(
        "armed-for-ever",
        "an effect whose sender is gone stays armed, and nobody is told",
        "storage/memory/doubt.py",
        "    become_uncertain(effect, reason, timedelta(0), now)\n",
        '    effect.reason = f"{reason} {now}"\n',
        store="memory",
    ),
)

_COMES_IN: Final = (
    _plant(
        "tenant-from-the-path",
        "whose an event is, is told by the endpoint, and not by the signed number",
        "connectors/whatsapp/routes.py",
        "            found = self.by_account.get(said) if isinstance(said, str) and said else None\n",
        "            found = next(iter(self.by_account.values()), None)\n",
    ),
    _plant(
        "app-speaks-for-all",
        "any app whose signature is good speaks for every number",
        "ports/directory.py",
        "        return tuple(channel for channel in self.channels.values() if channel.endpoint == endpoint)\n",
        "        return tuple(channel for channel in self.channels.values() if endpoint)\n",
    ),
    _plant(
        "signature-unread",
        "a webhook is believed whoever has signed it",
        "connectors/whatsapp/verify.py",
        "    return verify_hmac(SCHEME, secrets, delivery)\n",
        "    return None\n",
    ),
    _plant(
        "person-by-first-name",
        "somebody who is shown under another name is somebody else",
        "connectors/whatsapp/arrivals.py",
        "        aliases=names,\n        retires=retires,\n",
        "        aliases=names[:1],\n",
    ),
    _plant(
        "new-number-is-a-stranger",
        "whoever changes the phone is somebody else from then on",
        "connectors/whatsapp/arrivals.py",
        "        names, retires = _changed(element.fields, names)\n",
        "        retires = ()\n",
    ),
    _plant(
        "window-never-opens",
        "a text does not open the 24 hours in which it may be answered",
        "connectors/whatsapp/arrivals.py",
        '        hears=kind != "system",\n',
        "        hears=False,\n",
    ),
    _plant(
        "echo-does-not-pause",
        "the bot goes on when somebody answers on the phone",
        "connectors/whatsapp/arrivals.py",
        '        pause=PauseDraft(duration=pause, keep_effects=False, reason="somebody answers on the phone") '
        "if pause else None,\n",
        "        pause=None if pause else None,\n",
    ),
)

_MERGES: Final = (
    _plant(
        "merge-plays-both",
        "two lanes that turn out to be one person's go on side by side",
        "core/lane.py",
        "    if facts.merging:\n",
        "    if facts.merging and facts.parked:\n",
    ),
    _plant(
        "merge-loses-what-waits",
        "an event that waited in a merged lane stays behind",
        "storage/memory/merge.py",
        "    for seq in range(stays + 1, row.last + 1):\n",
        "    for seq in range(stays + 2, row.last + 1):\n",
        store="memory",
    ),
    _plant(
        "merge-loses-the-state",
        "a merged lane's state is not handed over",
        "storage/memory/rest.py",
        "    if row.state is None:\n        return\n    event_id",
        "    if row.key:\n        return\n    event_id",
        store="memory",
    ),
    _plant(
        "merge-moves-what-is-begun",
        "an effect that was begun moves with the rest, and another holds its old lane",
        "storage/memory/merge.py",
        "    stays = row.cursor + 1 if head is not None and (begun or row.phase is Phase.HELD) else row.cursor\n",
        "    stays = row.cursor\n",
        store="memory",
    ),
)

_LEDGER: Final = (
    _plant(
        "ledger-merge-moves-what-is-begun",
        "likewise, in the ledger",
        "storage/ledger/merge.py",
        "    stays = lane.cursor + (head is not None and (begun or lane.phase == HELD))\n",
        "    stays = lane.cursor\n",
        store="sqlite",
    ),
)

PLANTS: Final = (*_SENDS, *_COMES_IN, *_MERGES, *_LEDGER)
