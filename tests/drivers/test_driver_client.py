"""What a driver says becomes history; what it does not live to say becomes ``info`` and a doubt."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import msgspec
import pytest

from highwater_chaos.workload.drivers.client import DriverClient
from highwater_chaos.workload.drivers.lines import DriverSettings, Told, decode_line, encode_line
from highwater_chaos.workload.history import HistoryRecorder, MicroOp


def line(**told):
    return encode_line(Told(**told)).decode()


def sent(value, offset=None):
    return (MicroOp("send", "orders-0", offset, value),)


@pytest.fixture
def recorder():
    began = time.monotonic_ns()
    return HistoryRecorder(lambda: time.monotonic_ns() - began)


@pytest.fixture
def client(recorder):
    return DriverClient("producer-0", recorder, recorder._now_ns)


def test_lines_become_operations_at_the_time_they_happened(client, recorder, start, scripted, wait_until):
    base = time.monotonic_ns()
    start(
        client,
        scripted(
            line(type="invoke", at=base + 1_000_000, operation=0, f="send", value=sent(1)),
            line(type="invoke", at=base + 2_000_000, operation=1, f="send", value=sent(2)),
            line(type="ok", at=base + 3_000_000, operation=1, value=sent(2, 7)),
            line(type="fail", at=base + 4_000_000, operation=0, value=sent(1), error="MSG_SIZE_TOO_LARGE: too large"),
            line(type="done", at=base + 5_000_000),
            then="sys.stdin.readline()",
        ),
    )
    wait_until(lambda: len(recorder.operations) == 4)
    assert not client.idle
    client._process._loop.call_soon_threadsafe(client.finish)
    wait_until(lambda: client.idle)
    assert client.doubt is None
    rows = recorder.history()
    assert [(row.type, row.process, row.value, row.error) for row in rows] == [
        ("invoke", 0, sent(1), None),
        ("invoke", 1, sent(2), None),
        ("ok", 1, sent(2, 7), None),
        ("fail", 0, sent(1), "MSG_SIZE_TOO_LARGE: too large"),
    ]
    assert [row.time - rows[0].time for row in rows] == [0, 1_000_000, 2_000_000, 3_000_000]
    assert recorder.acknowledged == 1


def test_histories_of_several_processes_are_one_by_time():
    now = [50]
    recorder = HistoryRecorder(lambda: now[0])
    ours = recorder.invoke("producer-1", "send", sent(10))
    theirs = recorder.invoke("producer-0", "send", sent(1), at_ns=40)
    recorder.ok("producer-0", theirs, sent(1, 0), at_ns=45)
    now[0] = 60
    recorder.ok("producer-1", ours, sent(10, 1))
    rows = recorder.history()
    assert [(row.index, row.time, row.client, row.type) for row in rows] == [
        (0, 40, "producer-0", "invoke"),
        (1, 45, "producer-0", "ok"),
        (2, 50, "producer-1", "invoke"),
        (3, 60, "producer-1", "ok"),
    ]


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(3)", "sys.exit(0)"])
def test_a_driver_that_ends_early_leaves_open_what_it_had_not_told(client, recorder, start, scripted, wait_until, end):
    begun = line(type="invoke", at=time.monotonic_ns(), operation=0, f="send", value=sent(1))
    start(client, scripted(begun, then=f"print('the reason',file=sys.stderr,flush=True);{end}"))
    wait_until(lambda: client.idle)
    assert [(row.type, row.error) for row in recorder.history()] == [
        ("invoke", None),
        ("info", "its driver ended first"),
    ]
    assert "producer-0: its driver ended with status" in client.doubt
    assert "before it was told to; it said last: the reason" in client.doubt


def test_a_driver_that_fails_while_finishing_is_a_doubt_too(client, start, scripted, wait_until):
    process = start(client, scripted(then="sys.stdin.readline();sys.exit(1)"))
    process._loop.call_soon_threadsafe(client.finish)
    wait_until(lambda: client.idle)
    assert client.doubt == "producer-0: its driver ended with status 1"


@pytest.mark.parametrize(
    "nonsense", ["hello", '{"type":"ok","at":1,"operation":99}', '{"type":"maybe","at":1,"operation":0}']
)
def test_nonsense_ends_the_driver_and_is_a_doubt(client, start, scripted, wait_until, nonsense):
    start(client, scripted(nonsense))
    wait_until(lambda: client.idle)
    assert "which makes no sense" in client.doubt


def test_lines_survive_the_pipe_in_pieces(client, recorder, start, scripted, wait_until):
    text = line(type="invoke", at=time.monotonic_ns(), operation=0, f="send", value=sent(1)) + "\n"
    write = ";".join(f"os.write(1,{part.encode()!r});time.sleep(0.01)" for part in (text[:20], text[20:50], text[50:]))
    start(client, scripted(then=f"{write};sys.stdin.read()"))
    wait_until(lambda: len(recorder.operations) == 1)
    assert recorder.operations[0].value == sent(1)


def test_a_line_is_as_small_as_it_can_be():
    told = Told(type="ok", at=5, operation=3, value=sent(1, 9))
    assert json.loads(encode_line(told)) == {
        "type": "ok", "at": 5, "operation": 3, "value": [{"op": "send", "key": "orders-0", "offset": 9, "value": 1}],
    }  # fmt: skip
    assert decode_line(encode_line(told)) == told


def test_the_real_driver_ends_with_its_harness(client, start, loop, wait_until):
    pytest.importorskip("confluent_kafka")
    settings = DriverSettings(
        role="producer",
        name="producer-0",
        bootstrap="127.0.0.1:1",
        topics=("orders",),
        seed="1",
        request_timeout_ns=10**9,
        delivery_timeout_ns=2 * 10**9,
    )
    argv = [sys.executable, "-m", "highwater_chaos.workload.drivers.confluent", msgspec.json.encode(settings).decode()]
    process = start(client, argv)
    # What a harness that was killed leaves behind: a pipe that nobody writes to any more.
    loop.call_soon_threadsafe(process._process.stdin.close)
    wait_until(lambda: client.idle)
    assert "ended with status 3" in client.doubt
    assert not Path(f"/proc/{process.pid}").exists()
