"""The kinds of worlds, each with the way it is played."""

from enum import StrEnum

from procession.testing.simulation.played import Played
from procession.testing.simulation.shape import StoreKind
from procession.testing.simulation.sites import AwaitSites


class Kind(StrEnum):
    STANDARD = "standard"
    """Signed webhooks and a messenger: every promise of the line, by whatever name a provider has for it."""
    WHATSAPP = "whatsapp"
    """Graph, people, handsets, and the shipped connector between them and the line."""


def play_one(kind: Kind, seed: int, places: AwaitSites, *, store: StoreKind | None, whole: bool = False) -> Played:
    # Imported when it is played: a bug is planted before what it changes is imported.
    if kind is Kind.WHATSAPP:
        from procession.testing.simulation.whatsapp.world import play_whatsapp

        return play_whatsapp(seed, places, store=store, whole=whole)
    from procession.testing.simulation.world import play

    return play(seed, places, store=store, whole=whole)
