"""Stores of one shape behind the store port; memory is the reference."""
