"""Measurements that can be repeated: each prints its figures beside a floor of the same run."""
