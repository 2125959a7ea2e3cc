"""A dump of a replica says where and why it ended: nothing on the disk is left out silently."""

from __future__ import annotations

import json
from typing import Any

import pytest

from highwater_chaos.records import dump as replica_dump
from highwater_chaos.records.dump import dump_replicas
from highwater_chaos.records.values import record_of, value_of
from highwater_runtime.log.records import BatchView, Record, assemble_batch, build_batch
from highwater_runtime.sim.disk import SimDisk


def batch(offset: int, *values: int) -> bytes:
    records = [Record(offset=offset + i, value=str(value).encode()) for i, value in enumerate(values)]
    return build_batch(records, base_offset=offset, leader_epoch=0, timestamp_ms=0)


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


FIRST = batch(0, 10, 11)
LAST = batch(4, 14)

DISKS = {
    "whole": ({0: FIRST + batch(2, 12, 13), 4: LAST}, [10, 11, 12, 13, 14], [("end", 5, None)]),
    "bad CRC": (
        {0: FIRST + flipped(batch(2, 12, 13)), 4: LAST},
        [10, 11, 14],
        [("corrupt", 2, f"00000000000000000000.log, position {len(FIRST)}: "), ("gap", 2, "00000000000000000004.log")],
    ),
    "cut short": (
        {0: FIRST + batch(2, 12, 13)[:-1]},
        [10, 11],
        [("corrupt", 2, f"00000000000000000000.log, position {len(FIRST)}: "), ("end", 2, None)],
    ),
    "batch missing": (
        {0: FIRST + LAST},
        [10, 11, 14],
        [("gap", 2, f"00000000000000000000.log, position {len(FIRST)}: a batch of offset 4"), ("end", 5, None)],
    ),
    "segment missing": ({0: FIRST, 4: LAST}, [10, 11, 14], [("gap", 2, "00000000000000000004.log begins at offset 4")]),
    "empty": ({7: b""}, [], [("end", 7, None)]),
}


def test_a_segment_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch lies across the end of a part, and another one is larger than a part."""
    batches = [batch(offset, 10 + offset, 20 + offset) for offset in range(0, 40, 2)]
    batches.append(batch(40, *range(100)))
    disk = SimDisk()
    disk.mkdir("orders-0")
    disk.open(f"orders-0/{0:020d}.log", create=True).append(b"".join(batches))
    whole = list(dump_replicas(1, disk))
    for size in (61, 100, 151, 333):
        monkeypatch.setattr(replica_dump, "_READ_BYTES", size)
        assert list(dump_replicas(1, disk)) == whole
    assert len(whole) == len(batches) + 1


def test_the_rows_of_a_dump() -> None:
    """What a run directory has in ``dumps/replica_log.jsonl``, to the byte."""
    disk = SimDisk()
    disk.mkdir("a%d-0")
    plain = build_batch(
        [record_of(7, 5), Record(value=b"x")], leader_epoch=3, producer_id=9, producer_epoch=1, base_sequence=2**31 - 1
    )
    sparse = build_batch([record_of(8, 5)._replace(offset=3)], base_offset=2, last_offset=4, leader_epoch=4)
    compressed = assemble_batch(b"?", record_count=1, attributes=1, base_offset=5, last_offset=5, leader_epoch=4)
    disk.open(f"a%d-0/{0:020d}.log", create=True).append(plain + sparse + compressed + b"torn")
    crcs = [BatchView(one).crc for one in (plain, sparse, compressed)]
    of_replica = f'{{"broker":1,"partition":"a%d-0","topic_id":"{"0" * 32}"'
    nobody = '"producer_id":-1,"producer_epoch":-1,"sequence":-1'
    mark = '"leader_epoch":-1,"producer_id":-1,"sequence":-1,"value":null,"crc":0'
    torn_at = len(plain + sparse + compressed)
    found = f"{0:020d}.log, position {torn_at}: 4 bytes, fewer than the batch that begins there has"
    assert [line.decode() for part in dump_replicas(1, disk) for line in part.lines()] == [
        f'{of_replica},"offset":0,"leader_epoch":3,"producer_id":9,"producer_epoch":1,"sequence":2147483647,"value":7,'
        f'"crc":{crcs[0]}}}',
        f'{of_replica},"offset":1,"leader_epoch":3,"producer_id":9,"producer_epoch":1,"sequence":0,'
        f'"value":{value_of(b"x")},"crc":{crcs[0]},"altered":"headers ()"}}',
        f'{of_replica},"offset":3,"leader_epoch":4,{nobody},"value":8,"crc":{crcs[1]}}}',
        f'{of_replica},"offset":5,"leader_epoch":4,{nobody},"value":null,"crc":{crcs[2]}}}',
        f'{of_replica},"offset":6,{mark},"ended":"corrupt","found":"{found}"}}',
        f'{of_replica},"offset":6,{mark},"ended":"end","found":null,"start_offset":0}}',
    ]


@pytest.mark.parametrize("name", DISKS)
def test_a_dump_says_where_and_why_it_ended(name: str) -> None:
    files, values, expected = DISKS[name]
    disk = SimDisk()
    disk.mkdir("orders-0")
    for base_offset, data in files.items():
        disk.open(f"orders-0/{base_offset:020d}.log", create=True).append(data)
    rows: list[dict[str, Any]] = [json.loads(line) for part in dump_replicas(1, disk) for line in part.lines()]
    assert [row["value"] for row in rows if "ended" not in row] == values
    marks = [row for row in rows if "ended" in row]
    assert [mark["ended"] for mark in marks].count("end") == 1
    assert marks[-1]["start_offset"] == min(files)
    for mark, (ended, offset, found) in zip(marks, expected, strict=False):
        assert (mark["ended"], mark["offset"]) == (ended, offset)
        assert (mark["found"] or "").startswith(found or "")
