"""Providers of one shape: verify, parse, perform, and the table of their codes."""
