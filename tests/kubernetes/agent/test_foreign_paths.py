"""Links, devices and holes in a pod's volume: what the agent reads is the pod's own, a piece at a time."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.records.dump import DUMPED, DumpedBatch, Mark
from highwater_operator.agent import pod_files
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.volumes import VolumeRecord, Volumes
from highwater_runtime.log.records import Record, build_batch

SEGMENT = "00000000000000000000.log"
SECRET = build_batch([Record(value=b"secret")])
MIB = 1 << 20


@pytest.fixture
def pod() -> Pod:
    return Pod("ns", "demo-broker-0", "00000000-0000-4000-8000-000000000000", "node-1")


@pytest.fixture
def volumes(tmp_path: Path, pod: Pod) -> Volumes:
    made = Volumes(tmp_path / "state", tmp_path / "mounts")
    record = VolumeRecord(pod.volume, 40 * MIB, "ext4", 0, 0, made=True)
    (tmp_path / "state" / "volumes" / f"{pod.volume}.json").write_text(json.dumps(asdict(record)))
    made.data(pod.volume).mkdir(parents=True)
    foreign = tmp_path / "foreign" / "orders-0"
    foreign.mkdir(parents=True)
    (foreign / SEGMENT).write_bytes(SECRET)
    return made


def link_of_a_directory(data: Path, foreign: Path) -> None:
    (data / "orders-0").symlink_to(foreign)


def link_of_a_segment(data: Path, foreign: Path) -> None:
    (data / "orders-0").mkdir()
    (data / "orders-0" / SEGMENT).symlink_to(foreign / SEGMENT)


def link_of_the_topic(data: Path, foreign: Path) -> None:
    (data / "orders-0").mkdir()
    (data / "orders-0" / "partition.metadata").symlink_to(foreign / SEGMENT)


def a_pipe(data: Path, foreign: Path) -> None:
    del foreign
    (data / "orders-0").mkdir()
    os.mkfifo(data / "orders-0" / SEGMENT)


def links_of_all(data: Path, foreign: Path) -> None:
    data.rmdir()
    data.symlink_to(foreign.parent)


PLANTS = [link_of_a_directory, link_of_a_segment, link_of_the_topic, a_pipe, links_of_all]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda one: one.__name__)
def test_a_dump_is_of_the_pod_s_own_files(
    plant: Callable[[Path, Path], None], pod: Pod, volumes: Volumes, tmp_path: Path
) -> None:
    plant(volumes.data(pod.volume), tmp_path / "foreign" / "orders-0")
    got, refused = b"", ""
    try:
        for piece in pod_files.replica_rows(pod, volumes):
            got += piece
    except (MachineError, RefusalError) as error:
        refused = str(error)
    assert bool(refused) == (plant not in (link_of_a_directory, link_of_the_topic)), "what is no log is left out"
    dumped = DUMPED.decode_lines(got)
    assert all(isinstance(one, Mark) for one in dumped), "no record is another's"
    assert {one.replica.topic_id for one in dumped} <= {"0" * 32}


@pytest.mark.parametrize("name", [SEGMENT, "partition.metadata"])
def test_a_hole_is_not_read_into_memory(name: str, pod: Pod, volumes: Volumes) -> None:
    replica = volumes.data(pod.volume) / "orders-0"
    replica.mkdir()
    (replica / SEGMENT).write_bytes(b"")
    with (replica / name).open("wb") as file:
        file.truncate(2 << 30)
    tracemalloc.start()
    try:
        for _ in pod_files.replica_rows(pod, volumes):
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 * MIB


def test_a_whole_log_is_still_dumped(pod: Pod, volumes: Volumes) -> None:
    replica = volumes.data(pod.volume) / "orders-0"
    replica.mkdir()
    batches = [build_batch([Record(value=b"x" * 1000)], base_offset=offset) for offset in range(3000)]
    (replica / SEGMENT).write_bytes(b"".join(batches) + b"torn")
    dumped = DUMPED.decode_lines(b"".join(pod_files.replica_rows(pod, volumes)))
    batches = [one for one in dumped if isinstance(one, DumpedBatch)]
    assert [offset for batch in batches for offset in batch.every_offset()] == list(range(3000))
    torn, end = (one for one in dumped if isinstance(one, Mark))
    assert (torn.ended, end.ended) == ("corrupt", "end")
    assert "4 bytes, fewer than the batch that begins there has" in str(torn.found)
