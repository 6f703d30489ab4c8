"""What a campaign of seeds has shown, in the form in which it travels between processes and is printed."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from procession.testing.simulation.crashes import CrashCoverage
from procession.testing.simulation.played import Played
from procession.testing.simulation.rare import Rare
from procession.testing.simulation.sites import AwaitSites, Site
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.tally import Declared, Wrong


@dataclass(slots=True, kw_only=True)
class Broken:
    """A seed whose world broke a rule."""

    seed: int
    rule: str
    text: str
    excerpt: list[str]


@dataclass(slots=True, kw_only=True)
class Campaign:
    seeds: int = 0
    events: int = 0
    broken: list[Broken] = field(default_factory=list)
    rare: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    coverage: CrashCoverage = field(default_factory=CrashCoverage)

    def add(self, played: Played) -> None:
        self.seeds += 1
        self.events += played.events
        self.rare.update(played.rare)
        self.counts.update(played.counts)
        self.coverage.add(played.plan)
        if played.violation is not None:
            self.broken.append(
                Broken(
                    seed=played.seed,
                    rule=played.violation.rule,
                    text=played.violation.text,
                    excerpt=played.excerpt,
                )
            )

    def merge(self, other: "Campaign") -> None:
        self.seeds += other.seeds
        self.events += other.events
        self.broken += other.broken
        self.rare.update(other.rare)
        self.counts.update(other.counts)
        self.coverage.merge(other.coverage)

    # --- between processes ---

    def packed(self) -> dict[str, Any]:
        coverage = self.coverage
        return {
            "seeds": self.seeds,
            "events": self.events,
            "broken": [[each.seed, each.rule, each.text, each.excerpt] for each in self.broken],
            "rare": dict(self.rare),
            "counts": dict(self.counts),
            "crashed": [[*site, count] for site, count in coverage.crashed.items()],
            "recovery": [[*site, count] for site, count in coverage.crashed_in_recovery.items()],
            "stood": [list(site) for site in coverage.stood_at],
        }

    @classmethod
    def unpacked(cls, packed: dict[str, Any]) -> "Campaign":
        return cls(
            seeds=packed["seeds"],
            events=packed["events"],
            broken=[
                Broken(seed=seed, rule=rule, text=text, excerpt=excerpt)
                for seed, rule, text, excerpt in packed["broken"]
            ],
            rare=Counter(packed["rare"]),
            counts=Counter(packed["counts"]),
            coverage=CrashCoverage(
                crashed=Counter({Site(*site): count for *site, count in packed["crashed"]}),
                crashed_in_recovery=Counter({Site(*site): count for *site, count in packed["recovery"]}),
                stood_at={Site(*site) for site in packed["stood"]},
            ),
        )

    # --- printed ---

    def summary(self, places: AwaitSites) -> dict[str, Any]:
        """A site counts in `total` if a node was ever seen standing at it: where nobody can stand, nobody can die."""
        return {
            "seeds": self.seeds,
            "events": self.events,
            "violations": len(self.broken),
            "await_sites": self._awaits(places),
            "rare": {rare.value: self.rare[rare.value] for rare in Rare},
        }

    def summary_of_whatsapp(self, places: AwaitSites) -> dict[str, Any]:
        return {
            "world": "whatsapp",
            "seeds": self.seeds,
            "events": self.events,
            **{what.value: self.counts[what.value] for what in (*Wrong, *Declared)},
            "violations": len(self.broken),
            "await_sites": self._awaits(places),
            "rare": {sight.value: self.rare[sight.value] for sight in Sight},
        }

    def _awaits(self, places: AwaitSites) -> dict[str, int]:
        stood = [site for site in places.all if site in self.coverage.stood_at]
        crashed = [site for site in stood if self.coverage.crashed[site]]
        return {"crashed_at": len(crashed), "total": len(stood)}

    def never_stood_at(self, places: AwaitSites) -> list[str]:
        return [site.shown for site in places.all if site not in self.coverage.stood_at]

    def never_crashed_at(self, places: AwaitSites) -> list[str]:
        return [site.shown for site in places.all if site in self.coverage.stood_at and not self.coverage.crashed[site]]
