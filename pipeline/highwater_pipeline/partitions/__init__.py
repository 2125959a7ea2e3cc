"""The tables of one partition of one run, which a check gets; in memory, in a temporary file, or in a store."""
