"""Contracts between the stages and the world: store, console, directory, connector, vault, clock, bell, telemetry."""
