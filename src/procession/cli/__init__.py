"""The command line."""

from procession.cli.commands import main

__all__ = ["main"]
