"""Making a LogCluster what its resource says: one idempotent function, and the pure ones that decide for it.

:func:`.log_cluster.reconcile` looks (API server, live cluster), lets the deciding functions say what is next
(:mod:`.problems`, :mod:`.scaling`, :mod:`.rolling`, :mod:`.topics`), does it, and writes down how things are
(:mod:`.status`). It keeps nothing in memory: an operator that starts after any interruption finds the same next
step.
"""
