"""Reads histories that Jepsen stored."""
