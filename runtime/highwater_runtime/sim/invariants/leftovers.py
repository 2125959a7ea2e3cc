"""Files of brokers at rest that belong to nothing, or do not agree with what they are of (``disk-leftover``).

Worked example: a broker notes that its leader epochs are written, and has not written them. Everything works. After the
next clean stop nobody reads its batches again, and it tells followers of an epoch that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from highwater_runtime.broker import Broker
from highwater_runtime.config import NodeConfig
from highwater_runtime.log.checkpoints import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    read_epochs,
    read_offsets,
    read_partition_metadata,
    read_whole,
)
from highwater_runtime.log.errors import CorruptCheckpointError
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import (
    DELETE_DIR,
    DELETED,
    METADATA_LOG_DIR,
    SNAPSHOT,
    STRAY_DIR,
    TEMPORARY,
    file_name,
    join,
    offset_of,
)
from highwater_runtime.log.producer_state import ProducerStates
from highwater_runtime.sim.disk import SimDisk
from highwater_runtime.sim.invariants.obeyed import SOON_MS
from highwater_runtime.sim.invariants.violation import Unrest

_OF_BROKERS: Final = frozenset(
    (CLEAN_SHUTDOWN, HIGH_WATERMARKS, LOG_START_OFFSETS, META_PROPERTIES, RECOVERY_POINTS, METADATA_LOG_DIR)
)
_OF_LOGS: Final = frozenset((LEADER_EPOCHS, PARTITION_METADATA))
_LONG_MS: Final = 3_600_000
"""No run lasts so long: producers that are kept for that time are not forgotten."""


def leftovers(name: str, broker: Broker, disk: SimDisk) -> Iterator[Unrest]:
    """Yield what the broker's disk has, or its checkpoints say, of none of its logs."""
    logs = {str(tp): log for tp, log in broker.logs.items()}
    stays = broker.options.config.log_segment_delete_delay_ms > SOON_MS
    may_stay = (STRAY_DIR, DELETE_DIR) if stays else (STRAY_DIR,)
    for entry in disk.list():
        log = logs.get(entry)
        if log is not None and log.is_online:
            known = {*log.files, *(join(entry, file) for file in _OF_LOGS)}
            for file in disk.list(entry):
                is_known = join(entry, file.removesuffix(TEMPORARY)) in known or _is_snapshot(file, log)
                if not is_known and not (file.endswith(DELETED) and log.config.delete_delay_ms > SOON_MS):
                    yield Unrest("disk-leftover", name, f"{name} has {join(entry, file)}, a file of no segment")
        elif log is None and entry.removesuffix(TEMPORARY) not in _OF_BROKERS and not entry.endswith(may_stay):
            yield Unrest("disk-leftover", name, f"{name} has {entry}, which belongs to none of its logs")
    ends: dict[str, dict[str, int]] = {
        RECOVERY_POINTS: {partition: log.recovery_point for partition, log in logs.items()},
        LOG_START_OFFSETS: {partition: log.log_start_offset for partition, log in logs.items()},
        HIGH_WATERMARKS: {partition: log.log_end_offset for partition, log in logs.items()},
    }
    for path, most in ends.items():
        try:
            checkpointed = read_offsets(disk, path)
        except CorruptCheckpointError as error:
            yield Unrest("disk-leftover", name, f"{name} has a checkpoint that cannot be read: {error}")
            continue
        for tp, offset in checkpointed.items():
            if str(tp) not in most:
                yield Unrest("disk-leftover", name, f"{name} has an offset of {tp} in {path}, and no log of it")
            elif offset > most[str(tp)]:
                what = f"{name} has offset {offset} of {tp} in {path}, behind {most[str(tp)]}, that of its log"
                yield Unrest("disk-leftover", name, what)


def high_watermarks(name: str, broker: Broker, disk: SimDisk) -> Iterator[Unrest]:
    """Yield where the broker's checkpoint of HWs has another one than its replica."""
    config = broker.options.config
    if not hears_soon(config, config.high_watermark_checkpoint_interval_ms):
        return
    with suppress(CorruptCheckpointError):  # told already
        checkpointed = {str(tp): offset for tp, offset in read_offsets(disk, HIGH_WATERMARKS).items()}
        for replica in broker.partitions.values():
            has = checkpointed.get(replica.name)
            if replica.log.is_online and has != replica.high_watermark:
                what = f"{name} has {has} in {HIGH_WATERMARKS}, and HW {replica.high_watermark} of {replica.name}"
                yield Unrest("disk-leftover", name, what)


def hears_soon(config: NodeConfig, more_ms: int = 0) -> bool:
    """Whether a follower learns of its leader's last HW soon: with the answer to its next fetch, which may wait."""
    return config.replica_fetch_wait_max_ms + more_ms <= SOON_MS


def _is_snapshot(file: str, log: Log) -> bool:
    offset = offset_of(file, SNAPSHOT)
    return offset is not None and log.segment_bases[0] <= offset <= log.log_end_offset


# --- what is in the files ------------------------------------------------------------------------------------------


def contradictions(name: str, broker: Broker, disk: SimDisk) -> Iterator[Unrest]:
    """Yield which files of a log do not agree with it."""
    for (topic, _), log in broker.logs.items():
        if not log.is_online:
            continue
        known = broker.image.topics_by_name.get(topic)
        try:
            written = read_partition_metadata(disk, log.directory)
            epochs = read_epochs(disk, join(log.directory, LEADER_EPOCHS)) or []
        except CorruptCheckpointError as error:
            yield Unrest("disk-leftover", name, f"{name} has a file of {log.partition} that cannot be read: {error}")
            continue
        if written is not None and known is not None and written != known.id:
            what = f"{name} has {log.directory} of topic id {written.hex}, and {topic} is {known.id.hex}"
            yield Unrest("disk-leftover", name, what)
        if not log.epochs_are_stale and epochs != log.epoch_entries:
            what = f"{name} has leader epochs {epochs} on its disk, and its log of {log.partition} {log.epoch_entries}"
            yield Unrest("disk-leftover", name, what)
        if not log.config.compacts and log.config.producer_id_expiration_ms >= _LONG_MS:
            yield from _producers(name, log, disk)


def _producers(name: str, log: Log, disk: SimDisk) -> Iterator[Unrest]:
    """The newest snapshot of producers says of each what its last batch below says."""
    offset = max((at for file in disk.list(log.directory) if (at := offset_of(file, SNAPSHOT)) is not None), default=-1)
    if not log.segment_bases[0] <= offset <= log.log_end_offset:
        return
    try:
        states = ProducerStates.decode(read_whole(disk, join(log.directory, file_name(offset, SNAPSHOT))) or b"")
    except CorruptCheckpointError:  # torn by a loss of power, which a start finds out by its CRC
        return
    last: dict[int, tuple[int, int]] = {}
    for batch in log.headers(log.log_start_offset):
        if batch.base_offset < offset and batch.producer_id >= 0 and batch.base_sequence >= 0:
            last[batch.producer_id] = batch.producer_epoch, batch.last_sequence
    for producer, expected in last.items():
        entry = states.get(producer)
        found = None if entry is None or not entry.batches else (entry.epoch, entry.batches[-1].last_sequence)
        if found != expected:
            what = f"{name} has a snapshot at offset {offset} of {log.partition} that knows (epoch, sequence) {found}"
            yield Unrest("disk-leftover", name, f"{what} of producer {producer}, whose last batch has {expected}")
