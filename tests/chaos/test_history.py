from __future__ import annotations

import pytest

from highwater_chaos.workload.history import HistoryRecorder, MicroOp

SEND = MicroOp("send", "orders-0", None, 1)


@pytest.fixture
def recorder():
    return HistoryRecorder(lambda: 42)


def test_an_operation_is_an_invocation_and_one_completion(recorder):
    process = recorder.invoke("p", "send", [SEND])
    recorder.ok("p", process, [MicroOp("send", "orders-0", 5, 1)])
    invoke, ok = recorder.operations
    assert (invoke.index, invoke.type, invoke.process) == (0, "invoke", process)
    assert (ok.index, ok.type, ok.process, ok.value[0].offset, ok.time) == (1, "ok", process, 5, 42)


def test_a_process_has_one_open_operation_and_is_used_again_once_it_is_free(recorder):
    first = recorder.invoke("p", "send")
    second = recorder.invoke("p", "send")
    assert first != second
    recorder.fail("p", first, (), "REFUSED")
    assert recorder.invoke("p", "send") == first


def test_a_process_with_unknown_outcome_never_acts_again(recorder):
    process = recorder.invoke("p", "send")
    recorder.info("p", process, (), "timed-out")
    assert recorder.invoke("p", "send") != process


def test_clients_do_not_share_processes(recorder):
    process = recorder.invoke("p", "send")
    recorder.ok("p", process, ())
    assert recorder.invoke("q", "send") != process


def test_an_operation_cannot_be_completed_twice(recorder):
    process = recorder.invoke("p", "send")
    recorder.ok("p", process, ())
    with pytest.raises(AssertionError, match="no open operation"):
        recorder.ok("p", process, ())


def test_records_are_counted_as_acknowledged_only_when_ok(recorder):
    for outcome in ("ok", "fail", "info"):
        process = recorder.invoke("p", "send", [SEND])
        if outcome == "ok":
            recorder.ok("p", process, [SEND])
        else:
            getattr(recorder, outcome)("p", process, [SEND], "why")
    poll = recorder.invoke("c", "poll")
    recorder.ok("c", poll, [MicroOp("poll", "orders-0", 0, 1)])
    assert recorder.acknowledged == 1
    assert recorder.open_operations == 0
