"""Second stage: a lane is claimed, its turn is decided, and the outcome is settled."""
