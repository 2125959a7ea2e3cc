"""What :mod:`node_stand_in` writes."""

SYNCED, UNSYNCED = 100_000, 300_000
