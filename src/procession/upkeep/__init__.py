"""Beside the line: what died is freed, what is due is woken, what is old is forgotten."""

from procession.upkeep.service import UpkeepService

__all__ = ["UpkeepService"]
