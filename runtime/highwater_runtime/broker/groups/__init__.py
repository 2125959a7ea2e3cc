"""Consumer groups: the coordinator of Kafka's classic group protocol, and committed offsets (KIP-62, 211, 345, 394).

From the inside out::

    states        what a group may be, and become
    group         one group: members, votes for a protocol, generation, committed offsets
    sessions      who is alive
    membership    JoinGroup, SyncGroup, Heartbeat, LeaveGroup: what moves a group from state to state, and its time-outs
    offsets       what is committed, what is about to be, and what may be forgotten
    records       groups and offsets as records of ``__consumer_offsets``, in Kafka's own format
    offsets_log   appends to the local leader's partition, answered once committed
    loading       a partition's records read back, a slice at a time
    coordinator   which groups are here: partitions of ``__consumer_offsets`` that this broker leads
    offsets_topic makes ``__consumer_offsets`` on the first FindCoordinator
    *_api         requests and responses

A group lives on the leader of one partition of ``__consumer_offsets``: number Java's ``String.hashCode`` of its id,
modulo the number of partitions. Nothing here exists in a cluster that uses no groups: no topic, no timer, no series.
"""
