"""The shape of a WhatsApp world, drawn from its seed: engines, tenants with their numbers, people, rules and faults."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.directory import Channel, CollectRule, Endpoint, Setting, Snapshot, Tenant
from procession.ports.vault import PLATFORM, SecretName
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.shape import StoreKind
from procession.testing.whatsapp.courier import Habits
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.person import Person, Shows
from procession.testing.whatsapp.rules import Rules
from procession.testing.whatsapp.shape import Shape as CrowdShape
from procession.testing.whatsapp.shape import new_phone, new_user_id

PLATFORM_APP: Final = EndpointName("meta")
OWN_APP: Final = EndpointName("own")
"""Of the one tenant that has brought its own."""
OWNER: Final = TenantId("corner")
MAIN: Final = ChannelName("main")
SECOND: Final = ChannelName("second")
"""Every tenant's channels are called the same: what is told apart by name alone is told apart too little."""
TOKEN: Final = "token"  # noqa: S105 - the name of a field
QUIET: Final = timedelta(seconds=1)
WAIT_MAX: Final = timedelta(seconds=4)
COLLECTED_MAX: Final = 4
_STORES: Final = (StoreKind.MEMORY, StoreKind.EMBEDDED, StoreKind.MEMORY, StoreKind.SQLITE)
_DAY: Final = 86_400.0
_PAIR_EVERY: Final = 2.0
_TENANTS: Final = (
    (TenantId("acme"), (MAIN, SECOND), PLATFORM_APP),
    (TenantId("bright"), (MAIN,), PLATFORM_APP),
    (OWNER, (MAIN,), OWN_APP),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatsAppShape:
    seed: int
    store: StoreKind
    nodes: int
    lease_ttl: timedelta
    slots: int
    sends: int
    spread: float
    """Seconds of virtual time over which people write."""
    trouble: float
    """How much goes wrong, from 0 to 1."""
    snapshot: Snapshot
    secrets: dict[tuple[TenantId, SecretName], bytes]
    """As the vault has them now: a token that is rotated is replaced here."""
    numbers: tuple[Number, ...]
    people: tuple[Person, ...]
    crowd: CrowdShape
    rules: Rules
    faults: Faults
    habits: Habits
    collects: bool
    """Texts of a burst are answered together."""

    def channel_of(self, number: Number) -> Channel:
        return next(channel for channel in self.snapshot.channels.values() if channel.account == number.id)

    def app_secret(self, endpoint: EndpointName) -> bytes:
        found = self.snapshot.endpoints[endpoint]
        return self.secrets[found.tenant or PLATFORM, found.signing[0]]


def draw_whatsapp_shape(seed: int, chance: SeededChance, store: StoreKind | None = None) -> WhatsAppShape:
    kind = store or _STORES[seed % len(_STORES)]
    collects = chance.happens(0.3)
    numbers = _numbers(seed)
    snapshot, secrets = _directory(numbers, chance, collects=collects)
    trouble = chance.pick((0.15, 0.5, 1.0))
    spread = chance.uniform(18, 34)
    return WhatsAppShape(
        seed=seed,
        store=kind,
        nodes=1 if kind is StoreKind.EMBEDDED else chance.pick((2, 2, 3)),
        lease_ttl=timedelta(seconds=chance.pick((3, 4, 6))),
        slots=chance.pick((3, 8, 32)),
        sends=chance.pick((3, 8, 32)),
        spread=spread,
        trouble=trouble,
        snapshot=snapshot,
        secrets=secrets,
        numbers=numbers,
        people=tuple(_people(numbers, chance)),
        crowd=CrowdShape(
            bursts=2 + chance.below(2),
            burst_max=4,
            rest_s=(spread / 8, spread / 2.5),
            gap_s=(0.05, 0.9),
            moves=0.25,
        ),
        rules=Rules(pair_every_s=_PAIR_EVERY, pair_burst=_burst_of(snapshot), pair_slack_s=0.5),
        faults=_faults(trouble),
        habits=Habits(redelivered=0.2, batched=0.35, batch_within_s=0.6, jitter_s=0.5),
        collects=collects,
    )


def _numbers(seed: int) -> tuple[Number, ...]:
    found: list[Number] = []
    for account, (tenant, channels, _) in enumerate(_TENANTS, 1):
        for channel in channels:
            place = len(found) + 1
            found.append(
                Number(
                    tenant=tenant,
                    id=f"10{seed % 10**6:06}{place:04}",
                    waba=f"20{seed % 10**6:06}{account:04}",
                    display=f"+4930{seed % 10**6:06}{place:03}",
                    token=f"token-of-{tenant}-{channel}-0",
                )
            )
    return tuple(found)


def _people(numbers: tuple[Number, ...], chance: SeededChance) -> list[Person]:
    """Some write to several numbers with the same phone; of some it is not known at first that they are one."""
    people: list[Person] = []
    for number in numbers:
        for place in range(1, 5):
            label = f"{number.tenant}-{number.id[-1]}.{place}"
            before = people[-4] if len(people) >= 4 else None
            same = before.phone if before is not None and chance.happens(0.2) else None
            person = Person(
                number=number,
                label=label,
                phone=same or new_phone(chance),
                user_id=new_user_id(chance),
                shows=_SHOWS[place - 1] if place <= 2 else chance.pick(tuple(Shows)),
            )
            people.append(person)
    return people


_SHOWS: Final = (Shows.BOTH, Shows.EITHER_UNTIL)


def _faults(trouble: float) -> Faults:
    return Faults(
        error_before=0.03 * trouble,
        throttled=0.03 * trouble,
        error_after=0.04 * trouble,
        late_after=0.02 * trouble,
        silent_after=0.03 * trouble,
        cut_after=0.03 * trouble,
        garbage_after=0.02 * trouble,
        status_lost=0.15 * trouble,
        status_doubled=0.15,
        status_reversed=0.15,
        status_late=0.05,
        late_s=3 * _DAY,
    )


def _directory(
    numbers: tuple[Number, ...], chance: SeededChance, *, collects: bool
) -> tuple[Snapshot, dict[tuple[TenantId, SecretName], bytes]]:
    secrets: dict[tuple[TenantId, SecretName], bytes] = {}
    endpoints: dict[EndpointName, Endpoint] = {}
    for name, owner in ((PLATFORM_APP, None), (OWN_APP, OWNER)):
        signing = SecretName(f"endpoint/{name}/app_secret/0")
        secrets[owner or PLATFORM, signing] = f"the app secret of {name}, long enough".encode()
        endpoints[name] = Endpoint(name=name, connector="whatsapp", tenant=owner, signing=(signing,))
    burst = chance.pick((4, 6, 45))
    left = iter(numbers)
    channels: dict[tuple[TenantId, ChannelName], Channel] = {}
    tenants: dict[TenantId, Tenant] = {}
    for tenant, names, app in _TENANTS:
        tenants[tenant] = Tenant(id=tenant, weight=chance.pick((1, 2)), lanes_max=chance.pick((None, None, 3)))
        for called in names:
            number = next(left)
            secret = SecretName(f"channel/{called}/{TOKEN}")
            secrets[tenant, secret] = number.token.encode()
            channels[tenant, called] = Channel(
                tenant=tenant,
                name=called,
                endpoint=app,
                connector="whatsapp",
                account=number.id,
                secrets={TOKEN: secret},
                settings=_settings(number, burst, chance),
            )
    rule = CollectRule(kinds=("whatsapp.text",), quiet=QUIET, wait_max=WAIT_MAX, events_max=COLLECTED_MAX)
    snapshot = Snapshot(
        tenants=tenants, endpoints=endpoints, channels=channels, collects=(rule,) if collects else (), version=0
    )
    return snapshot, secrets


def _settings(number: Number, burst: int, chance: SeededChance) -> dict[str, Setting]:
    return {
        "waba": number.waba,
        "api_url": "https://graph.test",
        "timeout": chance.pick((1.0, 3.0)),
        "pair_every": _PAIR_EVERY,
        "pair_burst": burst,
        "echo_pause": chance.pick((2.0, 5.0)),
        "gate": chance.pick(("delivered", "delivered", "delivered", "accepted")),
        "gate_wait": chance.pick((2.0, 5.0)),
        "doubt_policy": chance.pick(("park", "park", "park", "resend", "skip")),
        "doubt_wait": chance.pick((2.0, 8.0, 30.0)),
        "resends_max": chance.pick((1, 3)),
    }


def _burst_of(snapshot: Snapshot) -> int:
    return max(int(str(channel.settings["pair_burst"])) for channel in snapshot.channels.values())


def token_secret(channel: Channel) -> SecretName:
    return channel.secrets[TOKEN]
