"""Clusters of others in pods: observed by requests of clients, broken by the agents of their nodes.

Clients' requests observe it as with ``--backend attach`` (:mod:`highwater_chaos.backends.attach`). Pods are found by
labels, and matched with brokers by the addresses that these advertise (:mod:`~.pods`). A pod that is replaced is the
next incarnation of its broker. The agents refuse pods of namespaces that have not opted in.
"""
