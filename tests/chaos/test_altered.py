"""A record that is not as it was sent: what a broker changes is found, whatever it is; a sound one is not blamed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.records.values import content_of, record_of
from highwater_chaos.verdict.checked_run import write_checked
from highwater_lab.mutants import Mutant, applied
from highwater_runtime.log.records import Record

# --- one record -----------------------------------------------------------------------------------------------------

sent = st.builds(
    record_of,
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**41),
    keys=st.sampled_from([0, 1, 7]),
    size=st.sampled_from([0, 30]),
    dated=st.sampled_from(["CreateTime", "LogAppendTime"]),
)


def is_dated_by_log(record: Record) -> bool:
    return b" log" in (record.headers[0][1] or b"")


@given(sent)
def test_a_record_as_it_was_sent(record: Record) -> None:
    value, altered = content_of(record, by_log=is_dated_by_log(record))
    assert altered is None
    assert value == int(record.value or b"")


def flipped(data: bytes, bit: int) -> bytes:
    bit %= 8 * len(data)
    return data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]


HEADER, SPACE = "sent", b" "
CHANGES: dict[str, Any] = {
    "a bit of the value": lambda one, bit: one._replace(value=flipped(one.value, bit)),
    "no value": lambda one, _: one._replace(value=None),
    "padding cut off or added": lambda one, _: one._replace(value=(one.value + SPACE).rstrip() + SPACE * (bit_of(one))),
    "another key": lambda one, bit: one._replace(key=b"%d" % (bit + 7)),
    "an empty key": lambda one, _: one._replace(key=b""),
    "no headers": lambda one, _: one._replace(headers=()),
    "one header twice": lambda one, _: one._replace(headers=one.headers * 2),
    "a bit of the header": lambda one, bit: one._replace(headers=((HEADER, flipped(one.headers[0][1], bit)),)),
    "a header without value": lambda one, _: one._replace(headers=((HEADER, None),)),
    "another header": lambda one, _: one._replace(headers=(("other", one.headers[0][1]),)),
    "a huge header": lambda one, bit: one._replace(headers=((HEADER, b"9" * (bit + 100_000)),)),
}


def bit_of(record: Record) -> int:
    """How many spaces another producer would pad the value with: not as many as this one."""
    return 1 if (record.value or b"")[-1:] != SPACE else 0


@pytest.mark.parametrize("change", CHANGES)
@given(record=sent, bit=st.integers(0, 10_000))
def test_a_record_other_than_it_was_sent(change: str, record: Record, bit: int) -> None:
    _, altered = content_of(CHANGES[change](record, bit), by_log=is_dated_by_log(record))
    assert altered
    assert len(altered) < 400


@given(sent, st.integers(1, 2**41))
def test_another_time_or_type_of_time(record: Record, by: int) -> None:
    by_log = is_dated_by_log(record)
    _, altered = content_of(record._replace(timestamp=record.timestamp + by), by_log=by_log)
    assert by_log or re.fullmatch(r"time stamp \d+, sent with \d+", altered or "")
    _, altered = content_of(record, by_log=not by_log)
    assert altered
    assert altered.startswith("time stamp of the type")
    # If the file gives a topic both types, neither is expected.
    either = record_of(1, 5, dated=None)._replace(timestamp=record.timestamp)
    assert [content_of(either, by_log=one)[1] for one in (False, True)] == [None, None]


# --- whole runs -----------------------------------------------------------------------------------------------------

EXPERIMENT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: content}}
spec:
  seed: 1
  timeout: 4m
  cluster:
    mode: {mode}
    brokers: 3
    config: {{min.insync.replicas: 2, log.retention.check.interval.ms: 1000}}
    topics: [{{name: orders, partitions: 1, replicationFactor: 3, config: {{{config}}}}}]
  workload: {{producers: 2, rate: 40/s, consumers: {consumers}, keys: 100}}
  schedule: [{{wait: 20s}}]
"""
COMPACTED = "cleanup.policy: compact, segment.bytes: 2000"


def _verdict(tmp_path: Path, mode: str, config: str, consumers: int = 1) -> dict[str, Any]:
    file = tmp_path / "content.yaml"
    file.write_text(EXPERIMENT.format(mode=mode, config=config, consumers=consumers), encoding="utf-8")
    experiment = load_experiment(file)
    return write_checked(experiment, run_experiment(experiment, SimBackend()), tmp_path, "run", wire=False).verdict


@pytest.mark.quick("kraft-LogAppendTime")
@pytest.mark.parametrize(
    ("mode", "time"),
    [
        ("kraft", "CreateTime"),
        ("kraft", "LogAppendTime"),
        pytest.param("zookeeper", "LogAppendTime", marks=pytest.mark.thorough),
    ],
)
def test_a_sound_broker_is_not_blamed(tmp_path: Path, mode: str, time: str) -> None:
    """Also the cleaner: it rewrites batches that lose some of their records."""
    verdict = _verdict(tmp_path, mode, f"{COMPACTED}, message.timestamp.type: {time}")
    assert (verdict["verdict"], verdict["checks"]["altered"]) == ("pass", "ok"), verdict["reasons"]
    assert verdict["removed"]["compaction"] > 100


_APPEND = "log.appendable_log:AppendableLog"
_LEADER = (f"{_APPEND}.append_as_leader", "patch_batch(data, batch.position, offset, leader_epoch)")
_FOLLOWER = (f"{_APPEND}.append_batches", "data = records if end == len(records) else memoryview(records)[:end]")
_CLEANER = ("log.compaction:kept_records", "kept.append(record)")
_WITH_CRC = "set_max_timestamp(data, batch, batch.max_timestamp); "
BROKEN = {
    "a leader flips a bit of a value before the CRC is made": (
        *_LEADER,
        f"data[data.find(b'sent', batch.position) - 3] ^= origin == 'client'; {_WITH_CRC}{_LEADER[1]}",
        "value ",
    ),
    "a cleaner drops headers": (*_CLEANER, "kept.append(record._replace(headers=()))", "headers ()"),
    "a cleaner gives a record another key": (*_CLEANER, "kept.append(record._replace(key=b'3'))", "key 3, sent with"),
    "a cleaner dates records": (*_CLEANER, "kept.append(record._replace(timestamp=batch.max_timestamp + 1))", "time "),
    "a follower dates records": (
        *_FOLLOWER,
        "data = bytearray(records[:end]); data[batches[0].position + 34] ^= 1\n"
        "        set_max_timestamp(data, batches[0], batches[0].max_timestamp)",
        "time stamp",
    ),
    "a leader dates records in place of their producer": (
        f"{_APPEND}.append_as_leader",
        "if latest is not None and self.config.log_append_time:",
        "if latest is not None:",
        "time stamp of the type LogAppendTime",
    ),
}


IN_ZOOKEEPER_MODE = ("a leader dates records in place of their producer", "a cleaner drops headers")


@pytest.mark.quick("kraft-a leader dates")
@pytest.mark.parametrize(
    ("mode", "what"),
    [
        *(("kraft", what) for what in BROKEN),
        *(pytest.param("zookeeper", what, marks=pytest.mark.thorough) for what in IN_ZOOKEEPER_MODE),
    ],
)
def test_what_a_broker_alters_is_found(tmp_path: Path, mode: str, what: str) -> None:
    where, old, new, story = BROKEN[what]
    config = "message.timestamp.type: CreateTime" if where.startswith(_APPEND) else COMPACTED
    with applied(Mutant("altered", where, old, new, what)):
        verdict = _verdict(tmp_path, mode, config, consumers=0)
    found = verdict["anomalies"]["altered"]
    assert verdict["verdict"] == "fail"
    assert story in found["examples"][0]["altered"]
    assert "not as it was sent" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
