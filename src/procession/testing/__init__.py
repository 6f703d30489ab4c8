"""Try a handler without a server; and the simulation that proves the engine."""
