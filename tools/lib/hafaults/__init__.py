"""Faults of a highly available cluster under load: what clients see, and what is left."""
