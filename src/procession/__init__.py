"""Every conversation in order, every reply once, every tenant apart."""
