"""Secrets, sealed: a data key for each tenant, wrapped by one master key."""

from procession.vault.envelope import WrongKey
from procession.vault.master import MasterKey, master_key_from
from procession.vault.vault import EnvelopeVault

__all__ = ["EnvelopeVault", "MasterKey", "WrongKey", "master_key_from"]
