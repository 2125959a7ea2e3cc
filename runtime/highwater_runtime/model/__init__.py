"""Rules of replication that follow from what nodes report, each stated once.

The simulator monitors by them event by event, the checks of the pipeline judge recordings by them, and the executable
specification (``highwater_pipeline.specification``) refuses steps by them. They get plain values and import nothing of
ours. What reads the state of a live core is no rule of this package: a node's report may be wrong, and
``sim/invariants`` compares the two.

The protocol's own code does not import this package, so that no error is in both.
"""
