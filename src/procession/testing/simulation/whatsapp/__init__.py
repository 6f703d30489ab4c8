"""Worlds of WhatsApp: Graph, people and handsets of `testing.whatsapp` in virtual time, and engines between them."""
