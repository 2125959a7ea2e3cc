"""Runs on this machine: their journals, their guardians, and how what they made is undone."""
