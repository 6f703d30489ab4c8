"""Worlds from a seed: the engine's own code on virtual time, with processes that die at any await."""
