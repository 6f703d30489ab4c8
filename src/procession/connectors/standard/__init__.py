"""Webhooks that are signed by the Standard Webhooks scheme."""

from procession.connectors.standard.connector import StandardConnector

__all__ = ["StandardConnector"]
