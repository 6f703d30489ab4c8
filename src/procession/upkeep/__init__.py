"""Beside the line: sweep what died, wake what is due, prune what is old."""
