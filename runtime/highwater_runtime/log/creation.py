"""A new log: its directory, its first segment, and the topic id that it belongs to (KIP-516).

It is a task (:mod:`.write_behind`): nobody gets to see the log before all of it is durable, the name of its
directory included. What a power loss leaves of an unfinished one is a directory without records, which a start takes
for an empty log: with its topic id if that is there, else without one.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from highwater_runtime.log.checkpoints import PARTITION_METADATA, encode_partition_metadata, write_temporary
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.names import LOG, TEMPORARY, file_name, join, parent
from highwater_runtime.log.recovery import Loader
from highwater_runtime.ports.disk import Disk


class Creation:
    """Makes a log in ``path``, where no other one is; ``loader`` has its state once it is done."""

    def __init__(
        self,
        disk: Disk,
        path: str,
        config: LogConfig,
        *,
        topic_id: UUID | None,
        now_ms: int,
        log_start_offset: int = 0,
        done: Callable[[OSError | None], None],
    ) -> None:
        self.path = path
        self.done = done
        self.topic_id = topic_id
        self.loader = Loader(
            disk=disk,
            directory=path,
            config=config,
            now_ms=now_ms,
            clean=True,
            recovery_point=0,
            log_start_offset=log_start_offset,
        )

    def prepare(self, disk: Disk) -> list[str]:
        if disk.is_dir(self.path):
            self.loader.load()  # what an earlier attempt left
        else:
            disk.mkdir(self.path)
            self.loader.begin_empty()
        written = [join(self.path, file_name(self.loader.log_start_offset, LOG))]
        if self.topic_id is not None:
            metadata = join(self.path, PARTITION_METADATA)
            written.append(write_temporary(disk, metadata, encode_partition_metadata(self.topic_id)))
        return written

    def install(self, disk: Disk) -> list[str]:
        if self.topic_id is not None:
            metadata = join(self.path, PARTITION_METADATA)
            disk.rename(metadata + TEMPORARY, metadata)
        return [self.path, parent(self.path)]
