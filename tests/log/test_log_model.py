"""A log against a list: whatever is done to it, it holds what a list of batches would hold."""

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.log import Record, build_batch, iter_batches


@dataclass
class Model:
    """Batches as (base offset, epoch, values); ``start`` as a log start offset."""

    start: int = 0
    batches: list[tuple[int, int, list[bytes]]] = field(default_factory=list)
    empty_at: int = 0

    @property
    def end(self):
        if not self.batches:
            return self.empty_at
        base, _, values = self.batches[-1]
        return base + len(values)

    @property
    def latest_epoch(self):
        return self.batches[-1][1] if self.batches else -1

    def records(self):
        every = [(base + i, epoch, value) for base, epoch, values in self.batches for i, value in enumerate(values)]
        return [record for record in every if record[0] >= self.start]

    def cut(self, offset):
        while self.batches and self.end > offset:
            self.empty_at = self.batches.pop()[0]
        self.start = min(self.start, self.end)

    def forget_before(self, offset):
        """Segments went; the batches of those that stay may begin below ``start``."""
        self.batches = [batch for batch in self.batches if batch[0] >= offset]
        self.empty_at = max(self.empty_at, offset)
        self.start = max(self.start, offset)

    def end_of_epoch(self, epoch):
        firsts = {}
        for offset, e, _ in self.records():
            firsts.setdefault(e, offset)
        if not firsts or epoch > max(firsts):
            return (-1, -1)
        if epoch == max(firsts):
            return (epoch, self.end)
        return (max((e for e in firsts if e <= epoch), default=epoch), min(o for e, o in firsts.items() if e > epoch))


sizes = st.integers(0, 60)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 1), st.lists(sizes, min_size=1, max_size=4)),
        st.tuples(st.just("append"), st.integers(0, 1), st.lists(sizes, min_size=1, max_size=4)),
        st.tuples(
            st.just("follow"),
            st.integers(0, 1),
            st.lists(st.lists(sizes, min_size=1, max_size=3), min_size=1, max_size=3),
        ),
        st.tuples(st.just("truncate"), st.integers(0, 8)),
        st.tuples(st.just("restart-at"), st.integers(-3, 5)),
        st.tuples(st.just("retain"), st.integers(0, 900), st.integers(0, 6)),
        st.tuples(st.just("advance-start"), st.integers(0, 5)),
        st.tuples(st.just("flush")),
        st.tuples(st.just("reopen")),
        st.tuples(st.just("kill")),
    ),
    max_size=30,
)


@settings(max_examples=120)
@given(steps, st.randoms(use_true_random=False))
def test_against_a_list_of_batches(make_world, values, small_config, steps, random):
    world = make_world()
    log = world.open()
    model = Model()
    written = 0
    for kind, *arguments in steps:
        match kind:
            case "append":
                epoch = max(1, model.latest_epoch + arguments[0])
                payload = [b"%d-" % (written + i) + b"x" * n for i, n in enumerate(arguments[1])]
                written += len(payload)
                info = log.append_as_leader(build_batch(payload, timestamp_ms=written), epoch, written)
                assert (info.first_offset, info.end_offset) == (model.end, model.end + len(payload))
                model.batches.append((model.end, epoch, payload))
            case "follow":
                data = b""
                for lengths in arguments[1]:
                    epoch = max(1, model.latest_epoch + arguments[0])
                    payload = [b"%d-" % (written + i) + b"x" * n for i, n in enumerate(lengths)]
                    written += len(payload)
                    data += build_batch(payload, base_offset=model.end, leader_epoch=epoch, timestamp_ms=written)
                    model.batches.append((model.end, epoch, payload))
                info = log.append_as_follower(data + b"cut off")
                assert info.end_offset == model.end
                assert b"".join(b.bytes_of() for b in log.batches_between(info.first_offset, model.end)) == data
            case "truncate":
                target = max(model.start, model.end - arguments[0])
                assert log.truncate_to(target) == (target < model.end)
                model.cut(target)
            case "restart-at":
                target = max(0, model.end + arguments[0])
                log.truncate_fully_and_start_at(target)
                model = Model(start=target, empty_at=target)
            case "retain":
                log.update_config(replace(small_config, retention_bytes=arguments[0]))
                hw = max(model.start, model.end - arguments[1])
                log.delete_old_segments(0, hw)
                assert log.log_start_offset <= max(hw, model.start)
                oldest = len(world.content(world.path(world.files(".log")[0])))
                if log.segment_count > 1 and hw == model.end:
                    assert log.size_in_bytes - oldest < arguments[0], "it would still be enough without the oldest"
                model.forget_before(_first_base(world))
                model.start = max(model.start, log.log_start_offset)
                log.update_config(small_config)
            case "advance-start":
                target = min(model.end, model.start + arguments[0])
                assert log.advance_log_start_offset(target) == (target > model.start)
                model.start = target
            case "flush":
                log.flush()
                assert log.recovery_point == model.end
            case "reopen":
                log.close()
                world.restart()
                log = world.open(clean=True, recovery_point=model.end, log_start_offset=model.start)
                assert log.recovery.reason == "clean"
            case "kill":
                point = log.recovery_point
                world.restart()
                log = world.open(recovery_point=point, log_start_offset=model.start)
                assert log.recovery.reason == "recovered"
                assert log.recovery.cuts == ()
        _compare(log, model, values, random)


def _first_base(world):
    return int(world.files(".log")[0].removesuffix(".log"))


def _compare(log, model, values, random):
    assert (log.log_start_offset, log.log_end_offset) == (model.start, model.end)
    records = model.records()
    assert values(log) == records
    assert log.recovery_point <= log.log_end_offset
    latest = model.latest_epoch
    if records:
        assert log.latest_epoch == latest
        for epoch in range(latest + 2):
            assert log.epoch_end_offset(epoch) == model.end_of_epoch(epoch)
        offset, epoch, _ = random.choice(records)
        assert log.epoch_of(offset) == epoch
    spans = [(base, base + len(v)) for base, _, v in model.batches if base + len(v) > model.start]
    assert [(m.base_offset, m.end_offset) for m in log.batch_marks(model.start, model.end)] == spans
    for _ in range(3):
        if not records:
            assert log.read(model.end, 100) == b""
            return
        offset = random.randint(model.start, model.end)
        most = random.choice([0, 1, 100, 250, 10_000])
        below = random.choice([None, random.randint(model.start, model.end)])
        at_least_one = random.random() < 0.5
        data = log.read(offset, most, max_offset=below, min_one_batch=at_least_one)
        got = [(b.base_offset, b.end_offset) for b in iter_batches(data)]
        may = [s for s in spans if s[1] > offset and (below is None or s[1] <= below)]
        assert got == may[: len(got)], "a prefix of what may be read"
        assert len(data) <= most or (at_least_one and len(got) == 1)
        if may and (at_least_one or most >= 10_000) and (below is None or below > offset):
            assert got
        assert data == b"".join(b.bytes_of() for b in iter_batches(data)), "whole batches"


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=3), max_size=25), st.integers(-1, 52), st.integers(0, 20)
)
def test_records_are_found_by_timestamp(make_world, groups, asked, start):
    world = make_world()
    log = world.open()
    flat = []
    for group in groups:
        base = len(flat)
        data = build_batch([Record(timestamp=t, value=b"v" * 40) for t in group])
        log.append_as_leader(data, 3, 0)
        flat += [(t, base + i) for i, t in enumerate(group)]
    log.advance_log_start_offset(min(start, len(flat)))
    for clean in (None, True, False):
        if clean is not None:
            log.close() if clean else None
            log = world.open(clean=clean, log_start_offset=log.log_start_offset)
        readable = [(t, offset) for t, offset in flat if offset >= log.log_start_offset]
        expected = next(((t, offset, 3) for t, offset in readable if t >= asked), None)
        assert log.offset_for_timestamp(asked) == expected
        largest = log.offset_of_max_timestamp()
        if readable and max(t for t, _ in readable) == max(t for t, _ in flat):
            top = max(t for t, _ in readable)
            assert largest == (top, next(o for t, o in readable if t == top), 3)
