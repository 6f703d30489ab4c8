"""The second stage: plays turns, strictly one after the other in each lane, and many lanes at a time."""
