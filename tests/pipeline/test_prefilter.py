"""What is seen of many partitions at once excludes no finding: whatever a check finds, it has been asked to look for.

A wrong "nothing here" would be the worst fault of all. So each story's anomalies are planted in one of many partitions
in which all is well, and good partitions are changed at random, and every check is run on every partition all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline import checks
from highwater_pipeline.checks import check_partition, check_partitions, prefiltered, run_checks
from highwater_pipeline.partitions.partition_tables import PartitionTables, split
from highwater_pipeline.tables.recorded_events import EVERY_KIND
from highwater_pipeline.verdict import PartitionFindings

P0 = "orders-0"
TOPIC_ID = "0" * 31 + "1"


def good(new_story: Any) -> Any:
    """A partition whose leader, broker 0, is replaced by broker 1, and joins the ISR again. All is well."""
    story = new_story()

    def event(node: str, kind: str, **fields: Any) -> None:
        story.event(node, kind, partition=P0, topic_id=TOPIC_ID, **fields)

    def state(isr: list[int], leader: int, epoch: int, metadata_offset: int, reason: str = "changed") -> None:
        decided = {"leader": leader, "leader_epoch": epoch, "partition_epoch": metadata_offset - 20}
        event("controller-0", "partition-changed", replicas=[0, 1, 2], isr=isr, metadata_offset=metadata_offset,
              reason=reason, **decided)  # fmt: skip

    def leads(broker: int, epoch: int, isr: list[int], leo: int, hw: int) -> None:
        event(f"broker-{broker}", "became-leader", leader_epoch=epoch, partition_epoch=epoch, offset=hw,
              end_offset=leo, isr=isr, replicas=[0, 1, 2])  # fmt: skip
        event(f"broker-{broker}", "min-isr-set", min_isr=2)

    for broker in range(3):
        event(f"broker-{broker}", "log-loaded", offset=0, end_offset=0, reason="created")
    state([0, 1, 2], 0, 0, 20, "created")
    leads(0, 0, [0, 1, 2], 0, 0)
    story.follows(1, 0, 0, leo=0, hw=0).follows(2, 0, 0, leo=0, hw=0)
    for offset in range(2):
        story.appends(0, offset, offset + 1, leader=True).appends(1, offset, offset + 1).appends(2, offset, offset + 1)
        story.commits(0, offset, offset + 1, crc=offset + 1)
    story.acknowledges(0, 0, 1, isr=[0, 1, 2], min_isr=2)
    state([1, 2], 1, 1, 21)
    leads(1, 1, [1, 2], 2, 1)
    story.follows(2, 1, 1, leo=2, hw=1).commits(1, 1, 2, leader_epoch=1, epoch=0, crc=2)
    story.appends(1, 2, 3, leader_epoch=1, leader=True).appends(2, 2, 3, leader_epoch=1)
    story.commits(1, 2, 3, leader_epoch=1, crc=3)
    story.follows(0, 1, 1, leo=2, hw=1).appends(0, 2, 3, leader_epoch=1)
    base = {"leader_epoch": 1, "partition_epoch": 1}
    event("broker-1", "isr-proposed", isr=[0, 1, 2], isr_epochs=[5, 6, 7], reason="expand", **base)
    event("controller-0", "alter-partition-handled", broker=1, isr=[0, 1, 2], isr_epochs=[5, 6, 7],
          registered_epochs=[5, 6, 7], metadata_offset=22, reason="NONE", **base)  # fmt: skip
    state([0, 1, 2], 1, 1, 22)
    event("broker-1", "isr-proposal-ended", leader_epoch=1, partition_epoch=2, isr=[0, 1, 2], reason="committed")
    story.send(1, at=0).send(2, at=1).send(3, at=2, process=1).assign(orders_0=0).poll((0, 1), (1, 2), (2, 3))
    for broker in range(3):
        records = [(0, 0, 1), (1, 1, 2)]
        story.dump_of_producer(broker, *records).dump(broker, (2, 1, 3)).dump_end(broker, 3)
    return story


def add(story: Any, partition: str, other: Any, number: int) -> None:
    """Put the partition of another story behind what has happened in ``story``."""
    began, first = story.now, len(story.events)
    for operation in other.operations:
        value = [msgspec.structs.replace(one, key=partition) for one in operation.value]
        at = {"index": len(story.operations), "time": began + operation.time}
        process = operation.process + 1000 * (number + 1)
        story.operations.append(msgspec.structs.replace(operation, value=value, process=process, **at))
    for event in other.events:
        at = {"seq": first + event.seq, "time_ns": began + event.time_ns, "node_time_ns": began + event.time_ns}
        own = None if event.partition is None else partition
        story.events.append(msgspec.structs.replace(event, partition=own, **at))
    story.dumps += [msgspec.structs.replace(record, partition=partition) for record in other.dumps]
    story.now = began + other.now


def judged(story: Any, neighbours: str = "") -> Iterator[tuple[PartitionTables, list[str], PartitionFindings]]:
    """Each unit, the checks that may find something in it, and what all checks find; both ways to judge find it too.

    Of ``neighbours``, partitions that begin with one of these letters, only what the prefiltered checks find.
    """
    facts, units = split(story.tables())
    names = checks._available(facts, [*checks.CLIENT_CHECKS_ON_REQUEST, "all"])
    partitions = units.small(checks.SMALL)
    assert partitions is not None
    wanted = prefiltered(facts, partitions, names)
    quickly = {found.partition: found for found in check_partitions(units, names)}
    for unit in units:
        found = quickly.get(unit.partition, PartitionFindings(facts.run_id, unit.partition, {}))
        if unit.partition.startswith(tuple(neighbours)):
            yield unit, wanted[unit.partition], found
            continue
        whole = run_checks(unit, names)
        assert found == whole
        assert check_partition(unit, names) == whole
        yield unit, wanted[unit.partition], whole


def test_a_partition_in_which_all_is_well_is_not_looked_at(new_story: Any) -> None:
    story = good(new_story)
    add(story, "orders-1", good(new_story), 1)
    for _, wanted, found in judged(story):
        assert wanted == []
        assert found.findings == {}


def test_an_anomaly_among_many_partitions_is_found(sample: Any, new_story: Any, thorough: bool) -> None:
    """Its partition has others before it and behind it."""
    story = sample.build()
    for number in range(6 if thorough else 2):
        add(story, f"{'az'[number % 2]}-{number}", good(new_story), number)
    found: set[str] = set()
    for unit, wanted, whole in judged(story, "" if thorough else "az"):
        assert set(whole.findings) <= set(wanted)
        found.update(name for name, finding in whole.findings.items() if finding.count)
        if unit.partition[0] in "az":
            # Its brokers are also those of the story, and may not be alive when they should, or not registered so.
            assert set(wanted) <= {"model-step", "stale-isr-join"}
    assert set(sample.anomalies) - set(checks.OF_RUNS) <= found


def _numbers(row: Any, least: int) -> dict[str, st.SearchStrategy[Any]]:
    """The fields of a row that may become another number, a list of brokers, or a word."""
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for name in row.__struct_fields__:
        value = getattr(row, name)
        if name in ("run_id", "seq", "index", "time", "node_time_ns", "min_isr"):
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            fields[name] = st.integers(max(value - 2, least), value + 2)
        elif isinstance(value, list) and value and isinstance(value[0], int):
            fields[name] = st.permutations(value) | st.lists(
                st.integers(0, 8), min_size=len(value), max_size=len(value)
            )
    return fields


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_what_any_check_finds_in_a_changed_partition_is_looked_for(new_story: Any, data: st.DataObject) -> None:
    changed, story = good(new_story), good(new_story)
    for _ in range(data.draw(st.integers(1, 3))):
        rows = data.draw(st.sampled_from([changed.events, changed.dumps]))
        at = data.draw(st.integers(0, len(rows) - 1))
        match data.draw(st.sampled_from(["leave out", "double", "move", *["change"] * 4])):
            case "leave out":
                del rows[at]
            case "double":
                rows.insert(at, rows[at])
            case "move":
                rows.insert(data.draw(st.integers(0, len(rows) - 1)), rows.pop(at))
            case _:
                fields = _numbers(rows[at], 0)
                name = data.draw(st.sampled_from(sorted(fields)))
                rows[at] = msgspec.structs.replace(rows[at], **{name: data.draw(fields[name])})
    for seq, event in enumerate(changed.events):
        changed.events[seq] = msgspec.structs.replace(event, seq=seq)
    add(story, "orders-1", changed, 1)
    add(story, "orders-2", good(new_story), 2)
    for _, wanted, whole in judged(story):
        assert set(whole.findings) <= set(wanted)


def test_a_partition_of_which_a_kind_of_events_is_missing(new_story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that reports none of its acknowledgements, say: a check may only say that it does not know."""
    story = good(new_story)
    monkeypatch.setattr("pipeline_stories.history.TOLD", EVERY_KIND)
    for number, kind in enumerate(sorted({event.kind for event in story.events})):
        other = good(new_story)
        other.events = [event for event in other.events if event.kind != kind]
        for seq, event in enumerate(other.events):
            other.events[seq] = msgspec.structs.replace(event, seq=seq)
        add(story, f"orders-{number + 1}", other, number)
    silent: dict[str, set[str]] = {}
    for unit, wanted, whole in judged(story):
        assert set(whole.findings) <= set(wanted)
        silent[unit.partition] = {name for name, one in whole.findings.items() if one.unknown}
    assert any("min-isr" in names for names in silent.values())


def test_a_producer_that_goes_back_an_epoch_among_many_partitions(new_story: Any) -> None:
    """With the sequence that a new epoch begins with."""
    story, other = good(new_story), good(new_story)
    for at, epoch in ((0, 1), (1, 0)):
        for number, record in enumerate(other.dumps):
            if record.offset == at:
                other.dumps[number] = msgspec.structs.replace(record, producer_epoch=epoch, sequence=0)
    add(story, "orders-1", other, 1)
    found = {unit.partition: set(whole.findings) for unit, _, whole in judged(story)}
    assert found[P0] == set()
    assert "sequence-gap" in found["orders-1"]


@pytest.mark.parametrize("name", ["send", "poll"])
def test_a_client_that_is_wrong_among_many_partitions(new_story: Any, name: str) -> None:
    story, other = good(new_story), good(new_story)
    if name == "send":
        other.send(1, at=2, process=7)
    else:
        other.poll((0, 2), process=101)
    add(story, "orders-1", other, 1)
    found = {unit.partition: set(whole.findings) for unit, _, whole in judged(story)}
    assert found[P0] == set()
    assert ("duplicate" if name == "send" else "inconsistent-offsets") in found["orders-1"]


def test_a_read_before_the_high_watermark_among_many_partitions(new_story: Any) -> None:
    story, other = good(new_story).under(exact_order=True, deletion=()), good(new_story)
    for number, operation in enumerate(other.operations):
        operation.time = number + 1  # before anything was committed
    add(story, "orders-1", other, 1)
    found = {unit.partition: set(whole.findings) for unit, _, whole in judged(story)}
    assert found == {P0: set(), "orders-1": {"model-step"}}


def test_logs_that_stay_or_go_among_many_partitions(new_story: Any) -> None:
    story, stays, goes = new_story(), good(new_story), good(new_story)
    story.event("broker-0", "node-started")
    story.event("broker-0", "broker-state", broker=0, broker_epoch=3, reason="running")
    last = max(at for at, event in enumerate(stays.events) if event.kind == "partition-changed")
    stays.events[last] = msgspec.structs.replace(stays.events[last], replicas=[1, 2], isr=[1, 2])
    goes.event("broker-2", "log-removed", partition=P0, topic_id=TOPIC_ID, reason="deleted")
    for number, other in enumerate((stays, good(new_story), goes)):
        add(story, f"orders-{number}", other, number)
    story.now += 11_000_000_000
    story.event("broker-0", "broker-state", broker=0, broker_epoch=3, reason="stopping")
    found = {unit.partition: set(whole.findings) for unit, _, whole in judged(story)}
    assert "stray-partition" in found[P0]
    assert found["orders-1"] == set()
    assert "live-partition-deleted" in found["orders-2"]


def test_a_record_that_was_replaced_among_many_partitions(new_story: Any) -> None:
    """Nothing was dumped, and the later leader's log is as long: only the batches themselves show it."""
    story, other = good(new_story), good(new_story)
    at = max(at for at, event in enumerate(other.events) if event.kind == "batch-committed" and event.offset == 1)
    other.events[at] = msgspec.structs.replace(other.events[at], crc=9)
    other.dumps = []
    add(story, "orders-1", other, 1)
    found = {unit.partition: set(whole.findings) for unit, _, whole in judged(story)}
    assert found[P0] == set()
    assert "committed-loss" in found["orders-1"]


def test_controllers_that_report_one_state_differently_among_many_partitions(new_story: Any) -> None:
    """What was reported first counts, and the other report has nobody whose log is gone."""
    story, other = good(new_story), good(new_story)
    for broker in range(3):
        epoch = 50 + broker  # behind all decisions
        other.event("controller-0", "broker-registered", broker=broker, broker_epoch=epoch, metadata_offset=epoch)
    last = next(event for event in reversed(other.events) if event.kind == "partition-changed")
    other.events.append(msgspec.structs.replace(last, seq=len(other.events), node="controller-1", isr=[0, 1]))
    other.dumps = [record for record in other.dumps if record.broker != 2]
    add(story, "orders-1", other, 1)
    found = {unit.partition: set(whole.findings) for unit, _, whole in judged(story)}
    assert found == {P0: set(), "orders-1": {"replica-incomplete"}}


def test_a_gap_is_excused_by_nothing_but_a_compaction_among_many_partitions(new_story: Any) -> None:
    story, other = good(new_story), good(new_story)
    other.appends(1, 7, 8, leader_epoch=1, leader=True)
    other.event("broker-1", "records-deletion-asked", partition=P0, offset=0, reason="compaction-begun")
    add(story, "orders-1", other, 1)
    found = {unit.partition: set(whole.findings) for unit, _, whole in judged(story)}
    assert found == {P0: set(), "orders-1": {"model-step"}}


def test_a_high_watermark_below_zero_that_does_not_go_back(story: Any) -> None:
    for epoch in (2, 1):
        story.event("broker-0", "high-watermark", partition=P0, topic_id=TOPIC_ID, offset=-5, leader_epoch=epoch)
    for _, wanted, found in judged(story):
        assert wanted == []
        assert found.findings == {}


@pytest.mark.parametrize("at_once", [1, 60, 100])
def test_events_of_a_few_partitions_at_a_time(new_story: Any, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(import_module("highwater_pipeline.checks.model_step"), "_AT_ONCE", at_once)
    story = good(new_story)
    for number in range(1, 7):
        other = good(new_story)
        if number in (2, 5):
            other.appends(1, 7, 8, leader_epoch=1, leader=True)
        add(story, f"orders-{number}", other, number)
    found = {unit.partition for unit, wanted, _ in judged(story) if "model-step" in wanted}
    assert found == {"orders-2", "orders-5"}
