"""A bot in the same process: what an engine does, in little; and how it may be wrong."""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping

from procession.testing.whatsapp.label import bubbles
from procession.testing.whatsapp.world import World


class Bot:
    """What an engine does, in little: each text once, each conversation in order, each bubble when the one before it is
    delivered.
    """

    def __init__(self) -> None:
        self.world: World | None = None
        self.waits_for_delivery = True
        self.drops_repeats = True
        self.is_deaf = False
        self._seen: set[str] = set()
        self._names: dict[tuple[str, str], str] = {}
        self._owed: dict[str, deque[tuple[str, str, dict[str, object]]]] = defaultdict(deque)
        self._under_way: dict[str, str] = {}

    def carry(self, body: bytes, headers: Mapping[str, str], done: Callable[[int | None], None]) -> None:
        for entry in json.loads(body)["entry"]:
            for change in entry["changes"]:
                number = change["value"]["metadata"]["phone_number_id"]
                for element in change["value"].get("messages", []):
                    self._came(number, element)
                for status in change["value"].get("statuses", []):
                    self._told(status)
        done(200)

    def _came(self, number: str, element: dict[str, object]) -> None:
        wamid = str(element["id"])
        if self.is_deaf or (wamid in self._seen and self.drops_repeats):
            return
        self._seen.add(wamid)
        names = [str(element[name]) for name in ("from_user_id", "from") if name in element]
        lane = next(
            (self._names[(number, name)] for name in names if (number, name) in self._names), f"{number}/{wamid}"
        )
        system = element.get("system")
        if isinstance(system, dict):
            names += [str(system[name]) for name in ("wa_id", "user_id") if name in system]
        self._names |= {(number, name): lane for name in names}
        text = element.get("text")
        if isinstance(text, dict):
            to = {"to": f"+{element['from']}"} if "from" in element else {"recipient": element["from_user_id"]}
            for place, bubble in enumerate(bubbles(str(text["body"]), 2)):
                self._owed[lane].append((number, bubble, {**to, "biz_opaque_callback_data": f"{wamid}/{place}"}))
            self._go_on(lane)

    def _told(self, status: dict[str, object]) -> None:
        lane = self._under_way.pop(str(status["id"]), None) if status["status"] in ("delivered", "read") else None
        if lane is not None:
            self._go_on(lane)

    def _go_on(self, lane: str) -> None:
        if not self._owed[lane] or (self.waits_for_delivery and lane in self._under_way.values()):
            return
        assert self.world is not None
        number, bubble, rest = self._owed[lane].popleft()
        token = next(one.token for one in self.world.numbers if one.id == number)
        document = {"messaging_product": "whatsapp", "type": "text", "text": {"body": bubble}, **rest}
        reaction = self.world.graph.asked("POST", f"/v25.0/{number}/messages", token, json.dumps(document).encode())
        assert reaction.status == 200, reaction
        self._under_way[str(json.loads(reaction.body)["messages"][0]["id"])] = lane
        if not self.waits_for_delivery:
            self._go_on(lane)
