"""The WhatsApp Business Cloud API: signed webhooks of Meta's in, Graph calls out."""

from procession.connectors.whatsapp.connector import WhatsAppConnector

__all__ = ["WhatsAppConnector"]
