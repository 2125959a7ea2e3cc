"""A world for one log: a disk that forgets, a clock that is turned by hand, and ears for what the log reports."""

from __future__ import annotations

from random import Random

import cramjam
import pytest
from hand_ports import HandClock, HandTrace

from highwater_runtime.config import NodeConfig
from highwater_runtime.log import Log, LogConfig, LogManager, build_batch
from highwater_runtime.log.errors import TruncationPendingError
from highwater_runtime.log.records import CODECS, HEADER_SIZE, assemble_batch, iter_batches
from highwater_runtime.ports import Ports
from highwater_runtime.sim import SimDisk


class Counted:
    def __init__(self):
        self.counts = {}

    def counter(self, name, amount=1.0, **labels):
        self.counts[name] = self.counts.get(name, 0) + amount

    def gauge(self, name, value, **labels):
        raise AssertionError(f"the log sets no gauges: {name}")

    def forget(self, name, **labels):
        raise AssertionError(f"the log forgets no series: {name}")


def recompress(codec, batch):
    """``batch`` with its records compressed, as a client would."""
    (view,) = iter_batches(batch)
    compress = {"snappy": cramjam.snappy.compress_raw}.get(codec) or getattr(cramjam, codec).compress
    return assemble_batch(
        bytes(compress(batch[HEADER_SIZE:])),
        record_count=view.record_count,
        attributes=view.attributes | CODECS.index(codec),
        base_offset=view.base_offset,
        last_offset=view.last_offset,
        leader_epoch=view.leader_epoch,
        producer_id=view.producer_id,
        producer_epoch=view.producer_epoch,
        base_sequence=view.base_sequence,
        base_timestamp=view.base_timestamp,
        max_timestamp=view.max_timestamp,
    )


@pytest.fixture(scope="session")
def compressed():
    return recompress


SMALL = LogConfig(segment_bytes=400, index_interval_bytes=90, delete_delay_ms=100)


class Process:
    """Whose fsyncs they are: what was under way when a process died completes, and tells nobody."""

    def __init__(self):
        self.lives = True

    def deliver(self, function, argument):
        if self.lives:
            function(argument)


class World:
    """One node's disk and time; logs come and go."""

    directory = "orders-0"

    def __init__(self, seed=0):
        self.disk = SimDisk(seed)
        self.clock = HandClock()
        self.trace = HandTrace()
        self.metrics = Counted()
        self.disk.owner = Process()

    def open(self, config=SMALL, **options):
        return Log.open(self.disk, self.directory, config, self.clock, trace=self.trace, **options)

    def manager(self, high_watermarks=dict, **properties):
        config = NodeConfig.of({name.replace("_", "."): value for name, value in properties.items()})
        ports = Ports(self.clock, None, self.disk, Random(7), self.metrics, self.trace)
        return LogManager(ports, config, "cluster", 0, high_watermarks)

    def stop(self, manager, **options):
        """Shut it down, and return what it answers."""
        answers = []
        manager.shutdown(answers.append, **options)
        for _ in range(3):
            self.disk.complete_fsyncs()
            self.clock.advance_ms(0)
        assert len(answers) == 1
        self.restart()
        return answers[0]

    def create(self, manager, topic, partition, topic_id, properties=None):
        """The log of a partition that has none, once it is there."""
        made = []
        manager.create(topic, partition, topic_id, made.append, properties)
        self.disk.complete_fsyncs()
        (log,) = made
        return log

    def advance(self, ms):
        """Time passes, and what is under way on the disk ends."""
        self.clock.advance_ms(ms)
        self.disk.complete_fsyncs()

    def cut(self, log, offset):
        """Truncate, as often as it takes; each time what is under way on the disk ends."""
        for _ in range(3):
            try:
                return log.truncate_to(offset)
            except TruncationPendingError:
                self.disk.complete_fsyncs()
        raise AssertionError("the recovery point is never lowered")

    def restart(self):
        """Processes die, and with them their timers; the page cache stays."""
        self.clock.disarm()
        self.disk.owner.lives = False
        self.disk.owner = Process()
        self.trace.events.clear()

    def lose_power(self, keep="none"):
        self.restart()
        return self.disk.power_loss(keep)

    def path(self, name):
        return f"{self.directory}/{name}"

    def files(self, suffix):
        return [name for name in self.disk.list(self.directory) if name.endswith(suffix)]

    def content(self, path):
        file = self.disk.open(path)
        return file.read(0, file.size())

    def overwrite(self, path, position, data):
        self.disk.open(path).pwrite(position, data)

    def settle(self):
        """Everything on this disk becomes durable, as after a long time."""
        self.disk.power_loss("all")


def values_of(log, start=None):
    """Every (offset, epoch, value) of a log, read in small pieces."""
    found, offset = [], log.log_start_offset if start is None else start
    for batch in log.batches_between(offset, log.log_end_offset):
        batch.ensure_valid()
        found += [(r.offset, batch.leader_epoch, r.value) for r in batch.records() if r.offset >= offset]
    return found


@pytest.fixture(scope="session")
def make_world():
    return World


@pytest.fixture
def world():
    return World()


@pytest.fixture(scope="session")
def values():
    return values_of


@pytest.fixture(scope="session")
def small_config():
    return SMALL


@pytest.fixture(scope="session")
def fill():
    """Append ``count`` batches of one record each, numbered from the log's end."""

    def fill(log, count, *, epoch=1, value=b"v", timestamp=None, **batch):
        for _ in range(count):
            end = log.log_end_offset
            stamp = end if timestamp is None else timestamp
            data = build_batch([value + b"%d" % end], timestamp_ms=stamp, **batch)
            log.append_as_leader(data, epoch, stamp)

    return fill


@pytest.fixture
def start(world):
    def start(high_watermarks=dict, **properties):
        manager = world.manager(high_watermarks, **properties)
        manager.start()
        return manager

    return start
