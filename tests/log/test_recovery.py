"""Unclean stops, one story each: what is found, what stays, what is said."""

import pytest
from processes import open_files

from highwater_runtime.host.files.posix_disk import PosixDisk
from highwater_runtime.log import LogConfig, build_batch
from highwater_runtime.log.checkpoints import LEADER_EPOCHS, encode_epochs, write_atomically
from highwater_runtime.log.names import file_name
from highwater_runtime.log.producer_state import ProducerStates, write_snapshot
from highwater_runtime.log.write_behind import do_now
from highwater_runtime.ports.trace import LogAppended, LogCut, LogLoaded

PRODUCER = {"producer_id": 7, "producer_epoch": 0}


class Story:
    """A log of several segments and of the epochs 1, 2 and 4, flushed but not closed, and then something happens."""

    def __init__(self, world, fill, values):
        self.world, self.values = world, values
        log = world.open()
        for epoch in (1, 2, 4):
            fill(log, 9, epoch=epoch)
        do_now(self.world.disk, log.save_epochs_later(lambda: None))
        log.flush()
        world.settle()
        self.records = values(log)
        self.bases = [int(name.removesuffix(".log")) for name in world.files(".log")]
        self.log = log
        assert len(self.bases) >= 4

    def path(self, segment, suffix=".log"):
        return self.world.path(file_name(self.bases[segment], suffix))

    def size(self, segment):
        return len(self.world.content(self.path(segment)))

    def recover(self, **options):
        """Open after a crash: a prefix is left, everything that points into it fits. Returns the log and its cut."""
        world = self.world
        world.restart()
        log = world.open(**options)
        loaded, *cuts = world.trace.events
        assert isinstance(loaded, LogLoaded), "first event of a log's life"
        assert (loaded.offset, loaded.end_offset) == (log.log_start_offset, log.log_end_offset)
        assert all(isinstance(cut, LogCut) and cut.end_offset == log.log_end_offset for cut in cuts)
        left = [r for r in self.records if r[0] >= log.log_start_offset]
        assert self.values(log) == left[: log.log_end_offset - log.log_start_offset]
        firsts = {}
        for offset, epoch, _ in self.values(log):
            firsts.setdefault(epoch, offset)
        assert dict(log.epoch_entries) == firsts
        assert log.recovery_point <= log.log_end_offset
        assert len(cuts) <= 1
        return log, cuts[0] if cuts else None


@pytest.fixture
def story(world, fill, values):
    return Story(world, fill, values)


def test_nothing_is_wrong(story):
    log, cut = story.recover()
    assert cut is None
    assert log.recovery.reason == "recovered"
    assert log.log_end_offset == 27


@pytest.mark.parametrize("missing", [1, 30, 70])
def test_the_last_batch_is_cut_short(story, missing):
    size = story.size(-1)
    story.world.disk.open(story.path(-1)).truncate(size - missing)
    _log, cut = story.recover()
    assert cut.reason == "short-batch"
    assert cut.end_offset in (25, 26)
    assert story.size(-1) == size - missing - cut.offset


def test_a_page_of_zeros(story):
    size = story.size(-1)
    story.world.disk.open(story.path(-1)).append(bytes(5000))
    _log, cut = story.recover()
    assert (cut.reason, cut.offset, cut.end_offset) == ("bad-size", 5000, 27)
    assert story.size(-1) == size


def test_zeros_in_the_middle_take_what_is_behind_them(story):
    story.world.overwrite(story.path(1), 0, bytes(61))
    _log, cut = story.recover()
    assert (cut.reason, cut.end_offset) == ("bad-size", story.bases[1])
    assert story.world.files(".log")[-1] == file_name(story.bases[1], ".log")
    assert cut.offset > 1000, "the segments behind it as well"


def test_a_flipped_bit(story):
    story.world.overwrite(story.path(2), story.size(2) - 1, b"\xff")
    _log, cut = story.recover()
    assert cut.reason == "bad-crc"
    assert story.bases[2] < cut.end_offset == story.bases[3] - 1


def test_a_batch_of_another_magic(story):
    story.world.overwrite(story.path(0), 16, b"\x01")
    assert story.recover()[1].reason == "bad-magic"


def test_a_segment_vanished_in_the_middle(story):
    behind = sum(story.size(i) for i in range(3, len(story.bases)))
    story.world.disk.unlink(story.path(2))
    _log, cut = story.recover()
    assert (cut.reason, cut.offset, cut.end_offset) == ("gap", behind, story.bases[2])
    assert [int(n.removesuffix(".index")) for n in story.world.files(".index")] == story.bases[:2], "no orphans"


def test_a_segment_vanished_below_the_recovery_point(story):
    story.world.disk.unlink(story.path(1))
    _log, cut = story.recover(recovery_point=27)
    assert (cut.reason, cut.end_offset) == ("gap", story.bases[1])


def test_a_segment_vanished_although_the_stop_was_clean(story):
    story.log.close()
    story.world.disk.unlink(story.path(1))
    log, cut = story.recover(clean=True, recovery_point=27)
    assert (cut.reason, log.recovery.reason) == ("gap", "recovered")


def test_everything_vanished_but_the_directory(story):
    for name in story.world.files(".log"):
        story.world.disk.unlink(story.world.path(name))
    log, cut = story.recover(recovery_point=27)
    assert (cut.reason, cut.offset, cut.end_offset) == ("short-log", 0, 0)
    assert log.append_as_leader(build_batch([b"new"]), 5, 0).first_offset == 0


def test_the_recovery_point_is_behind_the_end(story):
    story.world.disk.unlink(story.path(-1))
    log, cut = story.recover(recovery_point=27)
    assert cut.reason == "short-log"
    assert log.recovery_point <= log.log_end_offset == story.bases[-1]


def test_the_start_offset_is_behind_the_end(story):
    log, cut = story.recover(log_start_offset=100)
    assert (cut.reason, cut.end_offset) == ("behind-log-start", 100)
    assert (log.log_start_offset, log.log_end_offset) == (100, 100)


def test_the_first_segment_vanished(story):
    """Nothing says that it was there but the start offset, which is told."""
    story.world.disk.unlink(story.path(0))
    log, cut = story.recover()
    assert cut is None
    assert log.log_start_offset == story.bases[1]


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.append(bytes(8000)),
        lambda file: file.append(b"\x01" * 24),
        lambda file: file.append(b"\x01" * 5),
        lambda file: file.truncate(file.size() - 3),
        lambda file: file.truncate(0),
        lambda file: file.pwrite(0, b"\x7f" * 12),
    ],
    ids=["longer by zeros", "longer by entries", "longer by a piece", "torn", "empty", "garbage"],
)
def test_an_index_that_makes_no_sense_is_made_anew(story, clean, suffix, damage):
    if clean:
        story.log.close()
    for segment in (1, -1):
        # The active segment has no indexes before it is closed.
        file = story.world.disk.open(story.path(segment, suffix), create=segment == -1)
        if segment == 1:
            assert file.size() > 0
        if file.size() > 3:
            damage(file)
    log, cut = story.recover(clean=clean, recovery_point=27)
    assert cut is None
    for offset, _, value in story.records:
        assert log.read(offset, 1).endswith(value + b"\x00")
        assert log.offset_for_timestamp(offset).offset == offset


def test_index_files_vanished(story):
    for suffix in (".index", ".timeindex"):
        story.world.disk.unlink(story.path(1, suffix))
    _log, cut = story.recover(recovery_point=27)
    assert cut is None


def test_the_epoch_checkpoint_is_ahead_of_the_log(story):
    write_atomically(
        story.world.disk, story.world.path(LEADER_EPOCHS), encode_epochs([(1, 0), (2, 9), (4, 18), (6, 27), (9, 40)])
    )
    log, cut = story.recover(recovery_point=27)
    assert cut is None
    assert log.latest_epoch == 4


@pytest.mark.parametrize("recovery_point", [0, 20, 27])
def test_the_epoch_checkpoint_vanished(story, recovery_point):
    story.world.disk.unlink(story.world.path(LEADER_EPOCHS))
    log, _cut = story.recover(recovery_point=recovery_point)
    assert log.epoch_entries == [(1, 0), (2, 9), (4, 18)]


def test_the_epoch_checkpoint_tells_of_another_past(story):
    """Older than the truncation and the appends after it: what is scanned is believed, not the checkpoint."""
    write_atomically(story.world.disk, story.world.path(LEADER_EPOCHS), encode_epochs([(1, 0), (3, 5)]))
    log, _cut = story.recover(recovery_point=0)
    assert log.epoch_entries == [(1, 0), (2, 9), (4, 18)]


def test_an_old_tail_came_back_behind_new_batches(story):
    """Contiguous offsets and good CRCs, but the epochs go back: it had been truncated."""
    old = build_batch([b"old"], base_offset=27, leader_epoch=3)
    story.world.disk.open(story.path(-1)).append(old)
    _log, cut = story.recover()
    assert (cut.reason, cut.offset, cut.end_offset) == ("epoch-regression", len(old), 27)


def test_a_batch_with_the_wrong_offset(story):
    story.world.disk.open(story.path(-1)).append(build_batch([b"x"], base_offset=29, leader_epoch=4))
    assert story.recover()[1].reason == "gap"


def test_leftovers_go(story):
    disk, path = story.world.disk, story.world.path
    for name in ("00000000000000000099.log.deleted", "leader-epoch-checkpoint.tmp", "00000000000000000099.index"):
        disk.open(path(name), create=True)
    disk.open(path("00000000000000000050-0000000003.checkpoint"), create=True)
    story.recover()
    names = disk.list("orders-0")
    assert not [n for n in names if "099" in n or n.endswith(".tmp")]
    assert [n for n in names if n.endswith(".checkpoint")], "what is not ours stays"


def test_after_a_cut_the_log_goes_on_and_the_next_start_finds_nothing_wrong(story):
    story.world.overwrite(story.path(2), 70, b"\xff\xff")
    log, cut = story.recover()
    end = log.log_end_offset
    log.append_as_leader(build_batch([b"new"], timestamp_ms=50), 5, 50)
    log.flush()
    story.world.lose_power("none")
    story.records = [*story.records[:end], (end, 5, b"new")]
    log, cut = story.recover(recovery_point=end + 1)
    assert cut is None
    assert log.log_end_offset == end + 1


def test_without_a_trace_the_log_itself_knows_what_it_lost(story):
    story.world.overwrite(story.path(-1), 70, b"\xff\xff")
    story.world.restart()
    log = story.world.open()
    (cut,) = log.recovery.cuts
    assert cut.reason == "bad-crc"
    assert cut.dropped > 0


def test_large_batches_and_many(world, fill, values):
    """Batches across the edges of what recovery reads at a time."""
    config = LogConfig(index_interval_bytes=4096)
    log = world.open(config)
    for size in (700_000, 400_000, 1_000_000 - 61, 10, 900_000):
        log.append_as_leader(build_batch([bytes([size % 251]) * size]), 1, 0)
    fill(log, 5000)
    expected = values(log)
    world.restart()
    log = world.open(config)
    assert values(log) == expected
    assert log.recovery.cuts == ()
    assert [log.read(o, 1) for o in (0, 4, 5, 3000)] == [
        b.bytes_of() for o in (0, 4, 5, 3000) for b in log.batches_between(o, o + 1)
    ]


# --- producers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["clean", "killed", "power-loss", "killed-twice"])
def test_a_retry_is_recognised_after_a_restart(world, fill, how):
    log = world.open()
    for sequence in range(30):
        fill(log, 1, base_sequence=sequence, **PRODUCER)
    if how == "clean":
        log.close()
    else:
        log.flush()
    if how == "power-loss":
        world.lose_power("none")
    log = world.open(clean=how == "clean", recovery_point=log.recovery_point)
    if how == "killed-twice":
        log = world.open(recovery_point=log.recovery_point)
    world.trace.events.clear()
    for sequence in range(25, 30):
        info = log.append_as_leader(build_batch([b"v"], base_sequence=sequence, **PRODUCER), 2, 0)
        assert (info.duplicate, info.first_offset, info.marks) == (True, sequence, ())
    assert world.trace.of(LogAppended) == [], "a duplicate appends nothing"
    assert log.log_end_offset == 30


def test_a_new_leader_recognises_what_it_copied_as_a_follower(make_world, fill):
    leader, follower = make_world().open(), make_world().open()
    for sequence in range(8):
        fill(leader, 1, base_sequence=sequence, **PRODUCER)
        follower.append_as_follower(leader.read(sequence, 1000))
    info = follower.append_as_leader(build_batch([b"again"], base_sequence=5, **PRODUCER), 2, 0)
    assert (info.duplicate, info.first_offset) == (True, 5)


def test_a_snapshot_of_another_past_is_not_used(world, fill):
    """Taken at 12, then the log was cut to 6 and grew again without that producer; the removal got lost."""
    log = world.open()
    fill(log, 20)
    log.flush()
    stale = ProducerStates()
    donor = world.open()
    for batch in donor.batches_between(0, 1):
        batch.producer_id, batch.producer_epoch, batch.base_sequence = 7, 0, 40
        stale.update(batch)
    write_snapshot(world.disk, world.directory, 19, stale)
    log = world.open(recovery_point=5)
    assert not log.append_as_leader(build_batch([b"x"], base_sequence=3, **PRODUCER), 2, 0).duplicate


def test_snapshots_are_kept_only_where_a_segment_begins_and_at_the_end(world, fill):
    for _ in range(4):
        log = world.open(clean=True, recovery_point=10**9)
        fill(log, 2)
        log.close()
    names = [n.removesuffix(".snapshot") for n in world.files(".snapshot")]
    assert len(names) <= len(world.files(".log")) + 2
    assert int(names[-1]) == log.log_end_offset


def test_a_damaged_snapshot_is_replaced_by_an_older_one_and_the_log(world, fill):
    log = world.open()
    for sequence in range(30):
        fill(log, 1, base_sequence=sequence, **PRODUCER)
    log.close()
    newest = world.path(world.files(".snapshot")[-1])
    world.overwrite(newest, 12, b"\xff")
    log = world.open(clean=True, recovery_point=30)
    assert log.append_as_leader(build_batch([b"v"], base_sequence=26, **PRODUCER), 2, 0).first_offset == 26


# --- what is durable, and stays right ---------------------------------------------------------------------------------


def test_a_cut_is_durable(story):
    """Else a second power loss could put the bad tail behind what was written since."""
    story.world.overwrite(story.path(-1), 70, b"\xff\xff")
    story.world.settle()
    story.recover()
    size = story.size(-1)
    story.world.lose_power("none")
    assert story.size(-1) == size


def test_segments_that_were_dropped_do_not_come_back(story):
    story.world.overwrite(story.path(1), 70, b"\xff\xff")
    story.world.settle()
    story.recover()
    left = story.world.files(".log")
    assert len(left) == 2
    story.world.lose_power("none")
    assert story.world.files(".log") == left


def test_sealed_segments_are_flushed_with_their_indexes(world, fill):
    log = world.open()
    fill(log, 12)
    before = {name: world.content(world.path(name)) for name in world.files("index")}
    assert log.segment_count == 3
    world.disk.complete_fsyncs()
    world.lose_power("none")
    sealed = {name: content for name, content in before.items() if int(name.split(".")[0]) < log.recovery_point}
    assert len(sealed) == 4
    assert all(sealed.values())
    assert {name: world.content(world.path(name)) for name in sealed} == sealed


def test_after_a_truncation_the_indexes_are_those_that_a_recovery_would_make(world, fill):
    config = LogConfig(index_interval_bytes=90)
    log = world.open(config)
    fill(log, 20)
    log.truncate_to(9)
    fill(log, 1, epoch=2, value=b"v" * 100, timestamp=500)
    fill(log, 10, epoch=2)
    log.close()
    indexes = {name: world.content(world.path(name)) for name in world.files("index")}
    for name in indexes:
        world.disk.unlink(world.path(name))
    world.open(config).close()
    assert {name: world.content(world.path(name)) for name in world.files("index")} == indexes
    assert all(indexes.values())


def test_a_truncation_removes_snapshots_of_what_it_cut(world, fill):
    log = world.open()
    fill(log, 20)
    last = max(int(name.removesuffix(".snapshot")) for name in world.files(".snapshot"))
    log.truncate_to(last - 1)
    log.truncate_to(last - 1)
    assert all(int(name.removesuffix(".snapshot")) < last for name in world.files(".snapshot"))
    world.lose_power("none")
    assert all(int(name.removesuffix(".snapshot")) < last for name in world.files(".snapshot"))


def test_only_the_log_of_each_segment_is_kept_open(tmp_path, make_world, fill):
    """A process may have some 20,000 open files. With three for each segment 10,000 logs did not come up again."""
    world = make_world()
    world.disk = PosixDisk(tmp_path, run_blocking=lambda task: task(), post=lambda task: task())
    world.disk.mkdir(world.directory)
    log = world.open()
    fill(log, 12)
    assert log.segment_count == 3
    recovered = world.open()
    assert recovered.segment_count == 3
    assert len(world.files("index")) == 4
    opened = {target.name for target in open_files() if target.is_relative_to(tmp_path) and target.is_file()}
    assert opened == set(world.files(".log"))
    recovered.close()
