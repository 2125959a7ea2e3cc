"""The node agent: the only privileged part; on each Kubernetes node it breaks and heals Highwater's own pods there.

**Theory of operation.** All that is broken is broken by :mod:`highwater_chaos.machine`, as on one machine. The agent
adds what Kubernetes needs: which processes and which network are a pod's (:mod:`~.containers`), which pods may be
touched at all (:mod:`~.pods`), volumes that power can be taken from (:mod:`~.volumes`), and HTTP (:mod:`~.http_api`).

Two journals, both on the node and fsynced before anything is done. The *machine run's* says how to undo each thing; its
guardian, a process of its own, undoes what has reached its deadline, and a new agent finds in it what is in force. The
*fault records* (:mod:`~.records`) say which request each was for and what was seen, so that a request that is repeated
is answered and not carried out again. The run belongs to the machine's first process and not to the agent: agents come
and go (an update, a crash), and faults and their deadlines do not care.

Injecting asks the API server first, about the pod as it is now. Healing asks no one.
"""
