"""A Postgres of one's own, thrown away afterwards: what tests and selftests run the store on."""

from procession.testing.postgres.programs import PostgresUnavailable, Programs, programs
from procession.testing.postgres.server import ThrowawayServer, thrown_away

__all__ = ["PostgresUnavailable", "Programs", "ThrowawayServer", "programs", "thrown_away"]
