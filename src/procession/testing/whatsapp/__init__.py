"""A simulated WhatsApp: Graph's side of the wire, people with handsets behind it, faults, and a verdict.

A channel whose `api_url` leads here talks to it as to Meta. What people type comes to the target as signed webhooks;
what the target sends travels to handsets, each on its own way and time; statuses come back. Everything that happened is
written down (`book`), and judged in the end (`verdict`), without asking the engine for anything.

Time is the simulation's own (`timing`): with a pace of 20, Meta's six seconds are 0.3 of ours. Everything but the two
edges (`server`, `carrier`) is plain calls on that time, so that a test moves it by hand.
"""

from procession.testing.whatsapp.book import Accepted, Book
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.rules import Rules
from procession.testing.whatsapp.shape import Shape
from procession.testing.whatsapp.verdict import Promise, Verdict, verdict
from procession.testing.whatsapp.world import World

__all__ = ["Accepted", "Book", "Faults", "Promise", "Rules", "Shape", "Verdict", "World", "verdict"]
