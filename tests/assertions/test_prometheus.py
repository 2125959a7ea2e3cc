"""Assertions asked of a Prometheus: a real one that scrapes real nodes, and servers that answer as they should not."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.assertions import (
    PhaseRow,
    ask_prometheus,
    check_assertions,
    read_phases,
    write_answers,
    write_phases,
)
from highwater_chaos.assertions.check import Outcome
from highwater_chaos.assertions.phases import Span
from highwater_chaos.assertions.prometheus import asked_of
from highwater_chaos.backends.kubernetes.cluster import Place
from highwater_chaos.backends.local.layout import free_ports, is_free
from highwater_chaos.cli import execute
from highwater_chaos.experiment import Assertion, ChaosExperiment, ExperimentSpec, PrometheusServer
from highwater_chaos.kubernetes_jobs.runner import with_labels_of
from highwater_chaos.local_cluster.down import take_down
from highwater_chaos.local_cluster.record import ClusterRecord, names
from highwater_chaos.local_cluster.up import ClusterOptions, bring_up
from highwater_chaos.promql.text import text_of

CONFIG = """\
global: {{scrape_interval: 500ms, scrape_timeout: 400ms}}
scrape_configs:
  - job_name: nodes
    static_configs:
{targets}
"""
ONE_CONTROLLER = "sum(kafka_controller_kafkacontroller_activecontrollercount) == 1"


def spec(url: str, *assertions: dict[str, Any], timeout: str = "10s") -> ExperimentSpec:
    given = [{"name": f"a{number}", "during": "fault", **one} for number, one in enumerate(assertions)]
    return ExperimentSpec.model_validate(
        {
            "timeout": "1m",
            "cluster": {},
            "prometheus": {"url": url, "timeout": timeout},
            "assertions": given,
        }
    )


def judged(folder: Path, wanted: ExperimentSpec, began_unix_ns: int, lasts_ns: int) -> list[Outcome]:
    """As for a run that was in its fault phase all the time."""
    (folder / "metrics").mkdir(parents=True, exist_ok=True)
    write_phases(folder, [PhaseRow("fault", 0, lasts_ns)])
    assert wanted.prometheus is not None
    answers = ask_prometheus(wanted.prometheus, wanted.assertions, read_phases(folder), began_unix_ns // 1_000_000)
    write_answers(folder, answers)
    return check_assertions(wanted, folder)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterRecord]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    while True:
        (first,) = free_ports(1)
        if all(is_free(first + step) for step in range(4)):
            break
    yield bring_up(ClusterOptions(brokers=2, controllers=1, port=first))
    for name in names():
        take_down(name, wipe=True, patience=5)


def test_a_real_prometheus_that_scrapes_real_nodes(
    tmp_path: Path, cluster: ClusterRecord, start_prometheus: Callable[..., Any]
) -> None:
    ports = {node.name: json.loads(cluster.ready_path(node).read_bytes())["admin"] for node, _ in cluster.living()}
    targets = "\n".join(
        f"      - {{targets: ['127.0.0.1:{port}'], labels: {{node: {name}}}}}" for name, port in ports.items()
    )
    server = start_prometheus(config=CONFIG.format(targets=targets))
    partitions = "count(kafka_server_replicamanager_partitioncount)"
    _await(lambda: server.query(f"{partitions} == 2", _now_ms()) == {(): 2.0})
    began, start = time.time_ns(), time.monotonic_ns()
    _await(lambda: time.monotonic_ns() - start > 3_000_000_000)
    {node.name: identity for node, identity in cluster.living()}["broker-1"].send(signal.SIGKILL)
    _await(lambda: server.query(partitions, _now_ms()) == {(): 1.0})
    # The server tells of an instant only what it had scraped by then.
    _await(lambda: time.monotonic_ns() - start > 5_000_000_000)
    wanted = spec(
        server.url,
        {"promql": ONE_CONTROLLER},
        {"promql": f"{partitions} == 2"},
        {"promql": f"{partitions} == 1", "eventually": "5s"},
        {"promql": "up{node='broker-1'} == 0", "never": True},
        {"promql": "scalar(sum(up)) > bool 1"},
        {"promql": "nothing_like_it == 0", "never": True},
        {"promql": "up + on() kafka_server_replicamanager_partitioncount"},
    )
    found = judged(tmp_path / "run", wanted, began, time.monotonic_ns() - start)
    assert [one.holds for one in found] == [True, False, True, False, True, None, None], [one.reason for one in found]
    assert all(one.source == f"prometheus {server.url}" for one in found)
    assert found[0].instants >= 4
    assert found[1].found == ((partitions, 1.0),)
    assert found[1].time_ns is not None
    assert found[1].time_ns >= 3_000_000_000
    assert '{instance="127.0.0.1:' in found[3].found[0][0]
    assert "no sample of nothing_like_it in phase fault" in found[5].reason
    assert "422: " in found[6].reason
    assert "many-to-many matching not allowed" in found[6].reason

    assert wanted.prometheus is not None
    of_one = wanted.prometheus.model_copy(update={"labels": {"node": "broker-0"}})
    narrow = wanted.model_copy(update={"prometheus": of_one, "assertions": wanted.assertions[:2]})
    controllers, brokers = judged(tmp_path / "narrow", narrow, began, time.monotonic_ns() - start)
    assert controllers.reason.endswith(
        'no sample of kafka_controller_kafkacontroller_activecontrollercount{node="broker-0"} in phase fault'
    )
    assert brokers.found == (('count(kafka_server_replicamanager_partitioncount{node="broker-0"})', 1.0),)

    server.close()
    assert check_assertions(wanted, tmp_path / "run") == found, "its answers are kept with the run"

    again = judged(tmp_path / "later", wanted, time.time_ns(), 2_000_000_000)
    assert {one.holds for one in again} == {None}
    assert "no answer: " in again[0].reason


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _await(condition: Callable[[], bool], patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.1)


Answer = tuple[int, bytes]


@pytest.fixture
def stand_in() -> Iterator[Callable[[Callable[[], Answer]], str]]:
    """Starts servers that answer each question so; returns their URLs."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Callable[[], Answer]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                status, body = answer()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # whoever asked may be tired of waiting
                    self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def matrix(**more: Any) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}, **more}).encode()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((503, b"not ready"), "503: not ready"),
        ((422, b'{"status": "error", "error": "query timed out"}'), "422: query timed out"),
        ((200, b"<html>"), "expected a result of its query API, found b'<html>'"),
        ((200, b"[" * 100_000), "expected a result of its query API, found b'[["),
        ((503, b"[" * 100_000), "503: [["),
        ((200, b'{"status": "success", "data": {"resultType": "vector", "result": []}}'), "expected a matrix, found"),
        ((200, matrix(warnings=["store is down"])), "answered with warnings, so that something may be missing: store"),
        ((200, matrix()), "no sample of a in phase fault"),
    ],
)
def test_what_is_no_answer_decides_nothing(
    tmp_path: Path, stand_in: Callable[[Callable[[], Answer]], str], answer: Answer, why: str
) -> None:
    url = stand_in(lambda: answer)
    (found,) = judged(tmp_path, spec(url, {"promql": "a == 0", "never": True}), time.time_ns(), 3_000_000_000)
    assert found.holds is None
    assert why in found.reason


def test_a_server_that_does_not_answer_is_asked_once(
    tmp_path: Path, stand_in: Callable[[Callable[[], Answer]], str]
) -> None:
    over, asked = threading.Event(), []

    def answer() -> Answer:
        asked.append(1)
        over.wait(30)
        return 200, matrix()

    wanted = spec(stand_in(answer), {"promql": "a == 0"}, {"promql": "b == 0"}, timeout="300ms")
    found = judged(tmp_path, wanted, time.time_ns(), 3_000_000_000)
    over.set()
    assert [one.holds for one in found] == [None, None]
    assert "no answer within 300ms" in found[1].reason
    assert len(asked) == 1


def test_what_was_sampled_before_the_phase_does_not_count(
    tmp_path: Path, stand_in: Callable[[Callable[[], Answer]], str]
) -> None:
    began = time.time_ns() // 1_000_000_000 * 1_000_000_000
    at = began // 1_000_000_000

    def answer() -> Answer:
        # Whatever is asked for: the value 5 from before the phase, then the time of a sample within it.
        values = [[at, str(at - 5)], [at + 1, str(at + 1)], [at + 2, str(at + 1)]]
        data = {"resultType": "matrix", "result": [{"metric": {"x": "y"}, "values": values}]}
        return 200, matrix(data=data)

    wanted = spec(stand_in(answer), {"promql": "a > 0"})
    (found,) = judged(tmp_path, wanted, began, 3_000_000_000)
    assert (found.holds, found.instants) == (True, 2)


def test_before_the_first_sample_nothing_is_judged(
    tmp_path: Path, stand_in: Callable[[Callable[[], Answer]], str]
) -> None:
    """A server that has just been started, or is busy, has not scraped yet when the phase begins."""
    began = time.time_ns() // 1_000_000_000 * 1_000_000_000
    at = began // 1_000_000_000

    def answer() -> Answer:
        values = [[at + 2, str(at + 2)], [at + 3, str(at + 3)]]
        return 200, matrix(data={"resultType": "matrix", "result": [{"metric": {"x": "y"}, "values": values}]})

    wanted = spec(stand_in(answer), {"promql": "a > 0"})
    (found,) = judged(tmp_path, wanted, began, 3_000_000_000)
    assert (found.holds, found.instants) == (True, 1)


RUN = """\
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: asserted}}
spec:
  timeout: 1m
  cluster: {{brokers: 1, controllers: 1, topics: [{{name: orders, replicationFactor: 1}}]}}
  workload: {{producers: 1, rate: 20/s, consumers: 1}}
  prometheus: {{url: "{url}"}}
  assertions:
    - {{name: it, promql: {promql}, during: recovered}}
"""


def run(folder: Path, url: str, promql: str) -> tuple[int, Any]:
    """The exit status of a run on real processes, and its verdict."""
    (folder / "asserted.yaml").write_text(RUN.format(url=url, promql=promql))
    status = execute(["run", str(folder / "asserted.yaml"), "--backend", "local", "--out", str(folder / "runs")])
    (directory,) = (folder / "runs").iterdir()
    return status, json.loads((directory / "verdict.json").read_text())


def test_a_run_is_judged_by_what_its_prometheus_saw_of_its_phases(
    tmp_path: Path, start_prometheus: Callable[..., Any]
) -> None:
    targets = "      - {targets: ['127.0.0.1:1'], labels: {who: nobody}}"
    server = start_prometheus(config=CONFIG.format(targets=targets))
    deadline = time.monotonic() + 60
    while not server.query("up", time.time_ns() // 1_000_000):  # it scrapes: a busy machine takes its time for that
        assert time.monotonic() < deadline
        time.sleep(0.1)
    status, verdict = run(tmp_path, server.url, "up == 0")
    (found,) = verdict["assertions"]
    assert (found["holds"], found["source"]) == (True, f"prometheus {server.url}"), found
    assert (status, verdict["verdict"]) == (0, "pass")
    phase = next(one for one in verdict["timing"]["phases"] if one["name"] == "recovered")
    assert 1 <= found["instants"] <= phase["endSeconds"] - phase["startSeconds"] + 1


@pytest.mark.thorough
def test_a_run_whose_prometheus_is_not_there_is_inconclusive(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        status, verdict = run(tmp_path, url, ONE_CONTROLLER)
    assert (status, verdict["verdict"]) == (2, "inconclusive")
    assert verdict["inconclusiveReasons"] == [
        f"assertion it could not be judged: Prometheus {url}, asked for {ONE_CONTROLLER}: "
        "no answer: [Errno 111] Connection refused"
    ]


def test_on_kubernetes_it_is_asked_of_the_experiment_s_own_cluster() -> None:
    given = {"apiVersion": "highwater.dev/v1alpha1", "kind": "ChaosExperiment", "metadata": {"name": "demo-1f"}}
    wanted = spec("http://prometheus.monitoring.svc:9090", {"promql": "a == 0"})
    experiment = ChaosExperiment(**given, spec=wanted)
    for place, cluster in ((Place("ns", "demo-1f", "u"), "demo-1f"), (Place("ns", "demo-1f", "u", "theirs"), "theirs")):
        found = with_labels_of(place, experiment).spec
        assert found.prometheus is not None
        (question,) = [text_of(asked_of(found.prometheus, one)) for one in found.assertions]
        assert question == f'a{{namespace="ns", strimzi_io_cluster="{cluster}"}} == 0'
        assert with_labels_of(Place("other", "other", "u"), with_labels_of(place, experiment)).spec == found
    none = ChaosExperiment(**given, spec=ExperimentSpec.model_validate({"timeout": "1m", "cluster": {}}))
    assert with_labels_of(Place("ns", "demo-1f", "u"), none) == none


def test_questions_of_long_phases_have_fewer_points() -> None:
    server = PrometheusServer(url="http://127.0.0.1:9", timeout="1s")
    assertion = Assertion(name="a", promql="a > 0", during="fault")
    answers = ask_prometheus(server, [assertion], {"fault": Span(0, 36_000_000)}, 0)
    assert {one.step_ms for one in answers.questions} == {4_000}
    assert [one.promql for one in answers.questions] == ["a > 0", "a", "timestamp(a)"]
