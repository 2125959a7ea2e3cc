"""What becomes of a broker whose log has failed (discussion 4 of Detailed Replication Design V3)."""

from __future__ import annotations

from highwater_runtime.broker.partition import Partition
from highwater_runtime.log.log import Log
from highwater_runtime.ports import NodeHaltError


class FailedBroker:
    """A :class:`~highwater_runtime.broker.replica_manager.LostLogs`: in ZooKeeper mode a failed log ends the broker.

    To the document the failure of a disk is one of the whole broker, and so it is to Apache Kafka with one log
    directory: ``LogManager.handleLogDirFailure`` halts the process, in the ISR or not. So the broker ends as it does
    when a file that all logs share cannot be written, by the error of its disk, and the controller hears of it by its
    session. (For one directory of several Kafka has ``/log_dir_event_notification``, KIP-112.)
    """

    def report(self, log: Log, partition: Partition | None) -> None:
        """See :class:`~highwater_runtime.broker.replica_manager.LostLogs`.

        Raises:
            OSError: the disk's error, with the partition.
            NodeHaltError: the files are not what was written to them, though the disk reported no error.
        """
        del partition
        what = f"the log of {log.partition} has failed: in ZooKeeper mode the broker goes with it"
        if isinstance(log.failed_by, OSError):
            raise OSError(log.failed_by.errno, f"{what}: {log.failed_by}") from log.failed_by
        raise NodeHaltError(f"{what}: {log.failed_by}") from log.failed_by
