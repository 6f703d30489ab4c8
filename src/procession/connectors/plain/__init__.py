"""Any JSON webhook that is signed with an HMAC in a header; and POSTs to any URL."""

from procession.connectors.plain.connector import PlainConnector

__all__ = ["PlainConnector"]
