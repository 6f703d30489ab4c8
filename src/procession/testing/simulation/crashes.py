"""Where nodes die: a plan made by the seed, and the account of where they did.

Theory of operation. Some awaits are passed at every event and some once in a life. To kill at every n-th step would hit
the first ones only. So each site is armed by itself: whether it kills in this seed, and at which of its passings, hangs
on the seed, the site and the node alone. Over many seeds each site that is passed at all is then hit about equally
often. *Recovery*, the first seconds of a life that follows another, has draws of its own and higher odds: what crashes
while it mends a crash is where recovery is wrong.
"""

from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.sites import AwaitSites, Site

# The passing at which an armed site kills: the first for half of the seeds, then each doubling half as often.
_DOUBLINGS_MAX = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """One death: `sites` are all of our awaits that the node's running task stood at, outermost first."""

    node: str
    life: int
    at: float
    in_recovery: bool
    sites: tuple[Site, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """How likely a site is to kill, in one seed, for one node."""

    site: float = 0.02
    site_in_recovery: float = 0.08
    recovery: timedelta = timedelta(seconds=2)
    crashes_max: int = 12
    """Of all nodes, in one seed: a world that only dies shows nothing."""


class CrashPlan:
    """The `Reaper` of one seed, for all nodes of a world. `is_over` ends it: the time of healing."""

    def __init__(
        self,
        chance: SeededChance,
        sites: AwaitSites,
        odds: Odds | None = None,
        on_crash: Callable[[Crash], None] | None = None,
    ) -> None:
        self.crashes: list[Crash] = []
        self.stood_at: set[Site] = set()
        self.is_over = False
        self._chance = chance
        self._sites = sites
        self._odds = odds or Odds()
        self._on_crash = on_crash
        self._chains: set[tuple[Site, ...]] = set()
        self._passings_left: dict[tuple[Site, str, bool], int] = {}

    def strikes(self, node: Node, suspended: Coroutine[Any, Any, Any]) -> bool:
        if self.is_over or len(self.crashes) >= self._odds.crashes_max:
            return False
        chain = self._sites.chain(suspended)
        if not chain:
            return False
        if chain not in self._chains:
            self._chains.add(chain)
            self.stood_at.update(chain)
        site = chain[-1]
        in_recovery = node.life > 1 and node.loop.now - node.born_at < self._odds.recovery.total_seconds()
        passing = (site, node.name, in_recovery)
        left = self._passings_left.get(passing)
        if left is None:
            left = self._armed(site, node.name, in_recovery=in_recovery)
        self._passings_left[passing] = left - 1
        if left != 1:
            return False
        self._note(node, chain, in_recovery=in_recovery)
        return True

    def _armed(self, site: Site, node: str, *, in_recovery: bool) -> int:
        """At which passing of it this site kills. Zero, and all below it: at none."""
        name = f"{site.file}:{site.line}/{node}/{in_recovery}"
        odds = self._odds.site_in_recovery if in_recovery else self._odds.site
        if self._chance.fraction(f"armed {name}") >= odds:
            return 0
        drawn = self._chance.fraction(f"passing {name}")
        doubling = 0
        while drawn < 0.5 and doubling < _DOUBLINGS_MAX:
            drawn *= 2
            doubling += 1
        return int(2**doubling * (1 + self._chance.fraction(f"within {name}"))) if doubling else 1

    def _note(self, node: Node, chain: tuple[Site, ...], *, in_recovery: bool) -> None:
        crash = Crash(node=node.name, life=node.life, at=node.loop.now, in_recovery=in_recovery, sites=chain)
        self.crashes.append(crash)
        if self._on_crash is not None:
            self._on_crash(crash)


@dataclass(slots=True, kw_only=True)
class CrashCoverage:
    """Over many seeds: how often a node died at each site. Plain counts, so that it travels between processes."""

    crashed: Counter[Site] = field(default_factory=Counter)
    crashed_in_recovery: Counter[Site] = field(default_factory=Counter)
    stood_at: set[Site] = field(default_factory=set)

    def add(self, played: CrashPlan) -> None:
        """What became of the plan of one seed."""
        self.stood_at |= played.stood_at
        for crash in played.crashes:
            self.crashed.update(set(crash.sites))
            if crash.in_recovery:
                self.crashed_in_recovery.update(set(crash.sites))

    def merge(self, other: "CrashCoverage") -> None:
        self.stood_at |= other.stood_at
        self.crashed.update(other.crashed)
        self.crashed_in_recovery.update(other.crashed_in_recovery)

    def report(self, sites: AwaitSites) -> dict[str, object]:
        """Ready for JSON. A site is hit when a node died while that await was under way, at whatever depth below.

        Of the missed ones, those that nobody ever stood at are named apart: the workload does not lead there, or what
        is awaited there never suspends.
        """
        missed = [site for site in sites.all if not self.crashed[site]]
        return {
            "crashed_at": len(sites.all) - len(missed),
            "crashed_in_recovery_at": sum(1 for site in sites.all if self.crashed_in_recovery[site]),
            "total": len(sites.all),
            "missed": [site.shown for site in missed],
            "never_stood_at": [site.shown for site in missed if site not in self.stood_at],
        }
