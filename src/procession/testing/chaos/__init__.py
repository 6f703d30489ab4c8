"""The rig for faults on real processes: a served child, load on it, a provider that lies, a history and its judge."""

from procession.testing.chaos.caller import Answer, Caller, NotSent, Unclear
from procession.testing.chaos.checker import Finding, Verdict, check
from procession.testing.chaos.delivery import Deliver, Delivery, signed_deliveries
from procession.testing.chaos.final_state import EffectEnd, EventEnd, FinalState, StoredEffect, StoredEvent
from procession.testing.chaos.history import Answered, Entry, Fault, History, Outcome, Posted, Wired, read_history
from procession.testing.chaos.load import LoadGenerator, LoadReport, LoadShape
from procession.testing.chaos.provider import Carried, FakeProvider, Lies, carried_in
from procession.testing.chaos.served import NotHealthy, Served, free_port

__all__ = [
    "Answer",
    "Answered",
    "Caller",
    "Carried",
    "Deliver",
    "Delivery",
    "EffectEnd",
    "Entry",
    "EventEnd",
    "FakeProvider",
    "Fault",
    "FinalState",
    "Finding",
    "History",
    "Lies",
    "LoadGenerator",
    "LoadReport",
    "LoadShape",
    "NotHealthy",
    "NotSent",
    "Outcome",
    "Posted",
    "Served",
    "StoredEffect",
    "StoredEvent",
    "Unclear",
    "Verdict",
    "Wired",
    "carried_in",
    "check",
    "free_port",
    "read_history",
    "signed_deliveries",
]
