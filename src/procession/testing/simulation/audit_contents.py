"""What the provider has in its hands, by what it says itself, whatever name it came under: S8 and S12."""

import json
from collections import Counter

from procession.core.ids import TenantId
from procession.testing.simulation.effect_book import EffectBook
from procession.testing.simulation.history import History
from procession.testing.simulation.shape import canary


class Contents:
    def __init__(self, history: History) -> None:
        self._history = history
        self._taken: Counter[tuple[str, str, int]] = Counter()

    def check(self, own: EffectBook, tenant: TenantId, body: bytes) -> None:
        """`tenant` is the one whose host was called."""
        about = (own.draft.id, own.draft.lane)
        content = json.loads(body)
        tag = (content["tenant"], content["turn"], content["place"])
        self._taken[tag] += 1
        if self._taken[tag] > 1 + own.resends:
            self._history.fail("S8", f"the same content {tag} is taken again under another name", *about)
        if content["tenant"] != tenant or content["canary"] != canary(tenant) or own.tenant != tenant:
            self._history.fail("S12", f"{tenant} receives what is {content['tenant']}'s", *about)
