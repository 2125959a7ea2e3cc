"""What clients do to the cluster, and the record of what they saw.

Clients are cores like brokers and controllers: no I/O of their own, the same ports. So the simulator, a process and a
pod run the same producer, and its history means the same everywhere.
"""
