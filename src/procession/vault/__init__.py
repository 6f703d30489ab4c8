"""Secrets: sealed at rest, opened for one call."""
