"""The system under test: brokers and controllers of a Kafka-style replicated log.

Protocol logic lives in *cores* (``broker``, ``controller``, ``raft``, ``log``) that do no I/O of their own: they
are handed :class:`highwater_runtime.ports.Ports` and act through them alone. Hosts (``sim``, ``host``) implement
the ports.
"""
