"""Faults of one node that end when they are undone."""
