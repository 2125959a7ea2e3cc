"""A dump of a replica says where and why it ended: nothing on the disk is left out silently."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_chaos.replica_dump import dump_replicas
from highwater_runtime.log.records import Record, build_batch
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


@pytest.mark.parametrize("name", DISKS)
def test_a_dump_says_where_and_why_it_ended(name: str) -> None:
    files, values, expected = DISKS[name]
    disk = SimDisk()
    disk.mkdir("orders-0")
    for base_offset, data in files.items():
        disk.open(f"orders-0/{base_offset:020d}.log", create=True).append(data)
    rows: list[dict[str, Any]] = list(dump_replicas(1, disk))
    assert [row["value"] for row in rows if "ended" not in row] == values
    marks = [row for row in rows if "ended" in row]
    assert [mark["ended"] for mark in marks].count("end") == 1
    assert marks[-1]["start_offset"] == min(files)
    for mark, (ended, offset, found) in zip(marks, expected, strict=False):
        assert (mark["ended"], mark["offset"]) == (ended, offset)
        assert (mark["found"] or "").startswith(found or "")
