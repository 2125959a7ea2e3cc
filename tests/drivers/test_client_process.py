"""Processes of clients: what they say, what they leave when they die, and that none outlives its harness."""

from __future__ import annotations

import msgspec
import pytest

from highwater_chaos.base.lines import whole_lines
from highwater_chaos.workload.client_group import ROLES, ClientStatus
from highwater_chaos.workload.drivers import DRIVERS, OWN
from highwater_chaos.workload.drivers.lines import encode_status, finish_line, roles_of
from highwater_chaos.workload.history import Operation
from highwater_chaos.workload.history_files import MergedHistory
from highwater_chaos.workload.producer import ProducerOptions
from highwater_runtime.ports import Endpoint

NOBODY = Endpoint("127.0.0.1", 1)
PROCESSES = [pytest.param(OWN, id="own"), pytest.param(DRIVERS["confluent-kafka"], id="librdkafka")]


def producer(**options):
    return ProducerOptions(
        name="producer-0", index=0, bootstrap=[NOBODY], topics=["orders"], interval_ns=10_000_000, **options
    )


def status_line(**status):
    return encode_status(ClientStatus(**status)).decode()


def test_the_last_line_counts(group, start, scripted, wait_until):
    start(group, scripted(status_line(offered=1), status_line(offered=7, acknowledged=5, open=2, idle=("producer",))))
    wait_until(lambda: group.status().offered == 7)
    assert group.status() == ClientStatus(offered=7, acknowledged=5, open=2, idle=("producer",))


def test_lines_survive_the_pipe_in_pieces(group, start, scripted, wait_until):
    text = status_line(offered=12, acknowledged=3) + "\n"
    write = ";".join(f"os.write(1,{part.encode()!r});time.sleep(0.01)" for part in (text[:5], text[5:20], text[20:]))
    start(group, scripted(then=f"{write};sys.stdin.read()"))
    wait_until(lambda: group.status() == ClientStatus(offered=12, acknowledged=3))


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(3)", "sys.exit(0)"])
def test_a_process_that_ends_before_it_was_told_to_makes_the_run_inconclusive(group, start, scripted, wait_until, end):
    start(group, scripted(status_line(offered=4, open=4), then=f"print('the reason',file=sys.stderr,flush=True);{end}"))
    wait_until(lambda: group.has_ended)
    (reason,) = group.status().inconclusive_reasons
    assert reason.startswith("clients-0 (producer-0, producer-1): its process ended with status ")
    assert reason.endswith("before it was asked to; its last line on stderr: the reason")
    assert group.status().idle == ROLES, "nobody waits for it"


def test_a_process_that_fails_while_ending_makes_the_run_inconclusive_too(group, start, scripted, wait_until):
    start(group, scripted(then="sys.stdin.readline();sys.exit(1)"))
    group.end()
    wait_until(lambda: group.has_ended)
    assert group.status().inconclusive_reasons == (
        "clients-0 (producer-0, producer-1): its process ended with status 1",
    )


def test_nonsense_ends_the_process_and_makes_the_run_inconclusive(group, start, scripted, wait_until):
    start(group, scripted("hello"))
    wait_until(lambda: group.has_ended)
    assert "which makes no sense" in group.status().inconclusive_reasons[0]


def test_roles_survive_the_pipe():
    assert roles_of(finish_line(("consumer", "group-member"))) == ["consumer", "group-member"]
    assert roles_of(b"end\n") == []


@pytest.mark.parametrize("driver", PROCESSES)
def test_a_process_ends_with_its_harness(driver, group, start, settings, loop, wait_until):
    if driver is not OWN:
        pytest.importorskip("confluent_kafka")
    process = start(group, [*driver.command, settings(producers=(producer(),))])
    wait_until(lambda: group.status() != ClientStatus())
    # What a harness that was killed leaves behind: a pipe that nobody writes to any more.
    loop.call_soon_threadsafe(process._process.stdin.close)
    wait_until(lambda: group.has_ended)
    assert "ended with status 3" in group.status().inconclusive_reasons[0]


@pytest.mark.parametrize("driver", PROCESSES)
def test_a_process_ends_cleanly_when_it_is_told_to(driver, group, start, settings, wait_until):
    if driver is not OWN:
        pytest.importorskip("confluent_kafka")
    start(group, [*driver.command, settings(producers=(producer(),))])
    wait_until(lambda: group.status() != ClientStatus())
    assert "producer" not in group.status().idle
    group.finish("producer")
    wait_until(lambda: "producer" in group.status().idle)
    group.end()
    wait_until(lambda: group.has_ended)
    assert group.status().inconclusive_reasons == ()


def test_what_a_killed_process_had_begun_stays_open_and_a_torn_line_is_none(tmp_path):
    operation = Operation(0, 5, 0, "invoke", "send", (), "producer-0")
    whole = msgspec.json.encode(operation)
    (tmp_path / "clients-0.jsonl").write_bytes(whole + b"\n" + whole[:30])
    assert list(whole_lines(tmp_path / "clients-0.jsonl")) == [whole]
    (line,) = MergedHistory([tmp_path / "clients-0.jsonl"])
    assert msgspec.json.decode(line, type=Operation) == operation
