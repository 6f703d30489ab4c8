"""The ledger: each operation of the line, run on one connection inside a transaction that others begin and end."""
