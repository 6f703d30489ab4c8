"""Wiring, configuration and the system clock: the only place that knows concrete classes."""
