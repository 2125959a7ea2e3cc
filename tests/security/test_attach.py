"""``highwater run --backend attach`` on a cluster that it did not bring up, over TLS and SASL."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from confluent_kafka.admin import AdminClient

from highwater_chaos.backends.attach import topics
from highwater_chaos.backends.attach.noted_topics import NotesTopics
from highwater_chaos.backends.attach.session import Access, Session
from highwater_chaos.backends.attach.topics import Made
from highwater_chaos.cli import execute
from highwater_chaos.machine.kernel.own_program import own_program
from highwater_chaos.machine.runs.heal import heal
from highwater_runtime.ports import Endpoint

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: stranger}
spec:
  seed: 1
  timeout: 1m
  cluster: {topics: [{name: %s, partitions: 2, replicationFactor: 2}]}
  workload: {driver: %s, producers: 1, rate: 100/s, acks: all, consumers: 1}
  schedule:
    - await: {isr: {partition: %s-0, size: 2}, within: 20s}
    - wait: %s
"""
LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.fixture
def stranger(cluster, certificates, tmp_path, monkeypatch, capfd):
    """Runs files on the cluster from outside, with a state directory of its own."""
    monkeypatch.setenv("HIGHWATER_STATE_DIR", str(tmp_path / "state"))

    class Stranger:
        state = tmp_path / "state"
        client = tmp_path / "client.properties"
        runs = tmp_path / "runs"

        def file(self, topic, text="", *, driver="highwater", wait="1s", **changes):
            found = FILE % (topic, driver, topic, wait) + text
            for old, new in changes.items():
                found = found.replace(old, new)
            path = tmp_path / f"{topic}.yaml"
            path.write_text(found)
            return path

        def command(self, file, *options):
            return ["run", str(file), "--backend", "attach", "--out", str(self.runs), *options]

        def run(self, file, *options):
            status = execute(self.command(file, *(options or ("--client-config", str(self.client)))))
            out, err = capfd.readouterr()
            return status, out + err

        def topics(self):
            return set(AdminClient(cluster.librdkafka("SECURE")).list_topics(timeout=10).topics)

    found = Stranger()
    found.client.write_text(
        f"bootstrap.servers={cluster.bootstrap('SECURE')}\nsecurity.protocol=SASL_SSL\n"
        f"sasl.mechanism=SCRAM-SHA-512\nssl.truststore.type=PEM\nssl.truststore.location={certificates.ca}\n"
        f'sasl.jaas.config={LOGIN} username="alice" password="alice-512";\n'
    )
    return found


@pytest.mark.parametrize("driver", ["highwater", pytest.param("confluent-kafka", marks=pytest.mark.thorough)])
def test_a_verdict_on_the_cluster_of_others(driver, stranger):
    status, output = stranger.run(stranger.file("visited", driver=driver))
    assert status == 0, output
    (directory,) = stranger.runs.iterdir()
    verdict = json.loads((directory / "verdict.json").read_text())
    assert verdict["verdict"] == "pass"
    assert verdict["acknowledged"] > 50
    assert verdict["software"]["runtime"] == "attached"
    assert verdict["checks"]["lost-write"] == "ok"
    assert {
        verdict["checks"][name] for name in ("divergence", "committed-loss", "leader-not-in-isr", "node-crash")
    } == {"not-available"}
    assert "visited" not in stranger.topics()
    assert list(stranger.state.iterdir()) == []
    assert not [path for path in directory.rglob("*") if path.is_file() and b"alice-512" in path.read_bytes()]
    assert execute(["check", str(directory)]) == 0
    assert execute(["replay", str(directory)]) == 254


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"cluster: {": "cluster: {brokers: 3, "}, "the cluster has 2; found 3"),
        ({"cluster: {": "cluster: {switches: {replica-epoch-check: off}, "}, "spec.cluster.switches"),
        ({"cluster: {": "cluster: {config: {min.insync.replicas: 2}, "}, "brokers have '1', found '2'"),
        ({"wait: 1s": "inject: {kill: {target: {broker: 5001}}}"}, "the nodes' machines, disks and network belong to"),
        ({"wait: 1s": "inject: {hold: {rpc: Fetch}}"}, "needs interference by RPC"),
        ({"wait: 1s": "admin: {deleteTopic: {name: others}}"}, "'others' is not the experiment's own"),
        ({"refused": "taken"}, "topic 'taken' exists already"),
        ({"broker: 0": "broker: 7"}, None),
    ],
)
def test_what_it_cannot_do_is_refused_before_anything_is_made(changes, why, stranger, cluster):
    if "refused" in changes and "taken" not in stranger.topics():
        cluster.topic("taken")
    before = stranger.topics()
    if why is None:
        changes, why = {"wait: 1s": "await: {broker: {id: 7, state: down}, within: 1s}"}, "there is no broker 7"
    status, output = stranger.run(stranger.file("refused", **changes))
    assert (status, why in output) == (254, True), output
    assert stranger.topics() == before
    assert not stranger.runs.exists()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("alice-512", "wrong-one", "authentication failed: SASL_AUTHENTICATION_FAILED"),
        ("ca.pem", "other-ca.pem", "TLS handshake failed"),
        ("SCRAM-SHA-512", "GSSAPI", "one of PLAIN, SCRAM-SHA-256"),
        ("SASL_SSL", "SASL_PLAINTEXT", "another protocol"),
    ],
)
def test_who_is_not_let_in_is_told_why(old, new, why, stranger):
    stranger.client.write_text(stranger.client.read_text().replace(old, new))
    status, output = stranger.run(stranger.file("refused"))
    assert (status, why in output, "wrong-one" in output) == (254, True, False), output


def test_a_server_that_never_answers_is_given_up(stranger):
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        at = f"127.0.0.1:{silent.getsockname()[1]}"
        status, output = stranger.run(stranger.file("refused"), "--bootstrap", at)
    assert (status, f"{at}: accepts connections, but does not answer" in output) == (254, True), output


@pytest.mark.thorough
def test_topics_are_deleted_although_the_harness_is_killed(stranger, cluster):
    file = stranger.file("orphaned", wait="50s")
    command = [sys.executable, "-m", "highwater_chaos", *stranger.command(file, "--client-config", stranger.client)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as harness:
        cluster.until(lambda: "orphaned" in stranger.topics(), "the topic")
        (run,) = stranger.state.iterdir()
        journaled = b"".join(path.read_bytes() for path in run.iterdir() if path.is_file())
        guardian = next(int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and _guards(one, run))
        os.kill(guardian, signal.SIGKILL)
        harness.kill()
    assert b"alice-512" not in journaled
    (healed,) = heal(stranger.state)
    assert (healed.left, len(healed.undone)) == ([], 1), healed
    assert "orphaned" not in stranger.topics()
    assert list(stranger.state.iterdir()) == []


def test_nothing_of_another_cluster_is_deleted(stranger, cluster, tmp_path):
    """Another one may answer at the address by the time that somebody heals."""
    cluster.topic("kept")
    made = Made(cluster.bootstrap("SECURE").split(","), str(stranger.client), "another-cluster", ["kept"])
    made.write(tmp_path / "made.json")
    program = own_program("highwater_chaos.backends.attach.topics", "remove", str(tmp_path / "made.json"))
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "nothing of it is deleted" in done.stdout) == (2, True), done.stdout
    assert "kept" in stranger.topics()


def test_a_topic_of_the_same_name_that_was_created_anew_is_left(stranger, cluster, tmp_path):
    cluster.topic("anew")
    with Session(Access.of(cluster.bootstrap("SECURE"), stranger.client)) as session:
        (there,) = session.metadata(["anew"]).topics

    def remove(topic_id):
        made = Made(
            cluster.bootstrap("SECURE").split(","),
            str(stranger.client),
            "highwater-security-001",
            ["anew"],
            {"anew": topic_id},
        )
        made.write(tmp_path / "made.json")
        program = own_program("highwater_chaos.backends.attach.topics", "remove", str(tmp_path / "made.json"))
        return subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False).returncode

    assert remove("1" * 32) == 0
    assert "anew" in stranger.topics()
    assert remove(there.topic_id.hex) == 0
    assert "anew" not in stranger.topics()


def test_what_is_noted_of_topics_that_are_made_again_or_by_somebody_else():
    class Notes(NotesTopics):
        def _write_made(self):
            written.append((list(self._made.topics), dict(self._made.ids)))

    written = []
    notes = Notes()
    notes._begin_notes(Made(["k:1"], None, "c", []))
    notes.creating("a")
    notes.created("a", "first")
    notes.creating("a")
    assert written[-1] == (["a"], {}), "whichever of both a killed run leaves is its own"
    notes.not_created("a")
    assert written[-1] == (["a"], {"a": "first"}), "it had not been deleted"
    notes.creating("b")
    notes.not_created("b")
    assert written[-1] == (["a"], {"a": "first"})


def test_where_topics_have_no_ids_their_names_count():
    """Before Kafka 2.8 Metadata says none."""
    none = UUID(int=0)

    class Old:
        left = ("ours",)

        def metadata(self, topics):
            found = [
                SimpleNamespace(name=one, topic_id=none, error_code=0 if one in self.left else 3) for one in topics
            ]
            return SimpleNamespace(topics=found)

        def ask(self, broker, request, *_):
            assert [(one.name, one.topic_id.int) for one in request.topics] == [("ours", 0)]
            self.left = ()
            return SimpleNamespace(responses=[SimpleNamespace(name="ours", error_code=0)])

    made = Made(["k:1"], None, "c", ["ours", "gone"], {"ours": "1" * 32})
    assert topics._remove(Old(), made, {1: Endpoint("k", 1)}) == []


@pytest.fixture
def paused(stranger, cluster, tmp_path):
    """The documented file that pauses a broker, and its script, for a broker of the cluster."""
    documented = (Path(__file__).parents[2] / "docs" / "attach.md").read_text()
    script, *_ = re.findall(r"^```sh\n(.*?)^```$", documented, flags=re.M | re.S)
    _, text = re.findall(r"^```yaml\n(.*?)^```$", documented, flags=re.M | re.S)
    (tmp_path / "pause.sh").write_text(script)
    (tmp_path / "pause.sh").chmod(0o755)
    (tmp_path / "broker.pid").write_text(f"{cluster.brokers[1].process.pid}\n")

    class Paused:
        file = tmp_path / "paused.yaml"

        def is_paused(self):
            return Path(f"/proc/{cluster.brokers[1].process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    # Our nodes fence a broker sooner than Apache Kafka's, so that less time will do.
    text = text.replace("{broker: 1}", "{broker: 5001}").replace("for: 10s", "for: 3s").replace("wait: 12s", "wait: 4s")
    Paused.file.write_text(text)
    return Paused()


@pytest.mark.thorough
def test_a_fault_by_commands_of_the_user(stranger, paused):
    options = ("--client-config", str(stranger.client))
    status, output = stranger.run(paused.file, *options)
    assert (status, "runs commands of the file: ./pause.sh inject; heal: ./pause.sh heal;" in output) == (254, True)
    assert "highwater-paused" not in stranger.topics()
    status, output = stranger.run(paused.file, *options, "--allow-external")
    assert status == 0, output
    (directory,) = stranger.runs.iterdir()
    (fault,) = [json.loads(line) for line in (directory / "faults.jsonl").read_text().splitlines()]
    assert (fault["kind"], fault["targets"]) == ("external", ["broker-5001"])
    assert (fault["confirmed"], fault["healed"], paused.is_paused()) == (True, True, False)
    assert list(stranger.state.iterdir()) == []
    assert "the probe command says that it is gone" in (directory / "report.html").read_text()


def test_a_fault_by_commands_is_healed_although_the_harness_is_killed(stranger, cluster, paused):
    paused.file.write_text(paused.file.read_text().replace("for: 3s", "for: 3m").replace("wait: 4s", "wait: 4m"))
    options = ("--client-config", stranger.client, "--allow-external")
    command = [sys.executable, "-m", "highwater_chaos", *stranger.command(paused.file, *options)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as harness:
        cluster.until(paused.is_paused, "the fault")
        harness.kill()
    cluster.until(lambda: not paused.is_paused(), "the guardian's heal")
    cluster.until(lambda: not list(stranger.state.iterdir()), "nothing is left of the run")
    assert "highwater-paused" not in stranger.topics()


def _guards(process, run):
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"highwater_chaos.machine.runs.guardian" in words and str(run).encode() in words
