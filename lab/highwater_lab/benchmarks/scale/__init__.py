"""How cost grows with what exists: partitions, members, connections, records."""
