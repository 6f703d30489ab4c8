"""The third stage: effects leave, in order, once."""

from procession.outbox.service import OutboxService

__all__ = ["OutboxService"]
