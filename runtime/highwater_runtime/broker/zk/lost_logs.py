"""What becomes of a broker whose log has failed (discussion 4 of Detailed Replication Design V3)."""

from __future__ import annotations

from highwater_runtime.broker.mode import Core
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.ports import NodeHaltError


class FailedBroker:
    """A :class:`~highwater_runtime.broker.replica_manager.LostLogs`: in ZooKeeper mode a failed log ends the broker.

    To the document the failure of a disk is one of the whole broker. So the broker goes, and the controller hears of
    it by its session. (Apache Kafka has ``/log_dir_event_notification`` for single log directories, KIP-112.)
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    def report(self, key: PartitionKey) -> None:
        """See :class:`~highwater_runtime.broker.replica_manager.LostLogs`."""
        role = self._core.replicas.roles.get(key)
        name = "a log" if role is None else f"the log of {role.topic}-{key[1]}"
        raise NodeHaltError(f"{name} has failed: in ZooKeeper mode the broker goes with it")
