"""What a run leaves: its result in memory, the files of its directory, what they say of it, and whether they are whole.

A run is recorded by :mod:`highwater_chaos.engine` and judged by :mod:`highwater_chaos.verdict`, from these files alone.
"""
