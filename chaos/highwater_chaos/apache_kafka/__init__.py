"""Apache Kafka as software: its releases, its jars, and what a node is started with.

The backend ``local`` and the process of a pod run the same: neither knows the other.
"""
