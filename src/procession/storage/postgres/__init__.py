"""The Postgres store: the same rules on one database, for any number of processes on any number of machines."""
