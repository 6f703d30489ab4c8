"""Secrets, sealed: a data key for each tenant, wrapped by a master key."""

from procession.vault.command import CommandKey
from procession.vault.envelope import WrongKey
from procession.vault.master import GivenMasters, MasterKey, OwnMasters, drawn_masters, masters_from
from procession.vault.vault import EnvelopeVault

__all__ = [
    "CommandKey",
    "EnvelopeVault",
    "GivenMasters",
    "MasterKey",
    "OwnMasters",
    "WrongKey",
    "drawn_masters",
    "masters_from",
]
