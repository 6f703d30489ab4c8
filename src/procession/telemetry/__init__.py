"""What the engine says about itself: log lines and counters."""
