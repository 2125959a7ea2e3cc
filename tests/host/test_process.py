"""``highwater-node`` as a process: its start, its end, its exit status, and what it leaves behind."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time

import pytest

ALONE = {
    "process_roles": "controller",
    "node_id": 1000,
    "listeners": "CONTROLLER://127.0.0.1:{port}",
    "controller_quorum_voters": "1000@127.0.0.1:{port}",
}


@pytest.fixture
def controller(processes):
    """A controller that is a quorum by itself."""

    def make(name="controller-0", **properties):
        (port,) = processes.free_ports(1)
        given = {key: str(value).format(port=port) for key, value in {**ALONE, **properties}.items()}
        return processes.make(name, **given)

    return make


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "highwater_runtime.host.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
def test_a_clean_stop(controller, processes, event_loop):
    if event_loop == "uvloop":
        pytest.importorskip("uvloop")
    node = controller(highwater_event_loop=event_loop).start()
    ready = node.ready()
    processes.wait_until(lambda: node.http("/readyz")[0] == 200, "the controller to lead")
    assert node.http("/healthz") == (200, "ok\n")
    assert sorted(ready["listeners"]) == ["CONTROLLER"]
    node.signal(signal.SIGTERM)
    assert node.wait() == 0
    assert "stopping signal=SIGTERM" in node.log
    assert node.log.rstrip().endswith("stopped")
    assert "Traceback" not in node.log
    assert node.events()[0]["kind"] == "node-started"
    assert not node.control_path.exists()


def test_interrupt_stops_as_well_and_a_restart_goes_on_from_the_disk(controller, processes):
    node = controller().start()
    node.ready()
    processes.wait_until(lambda: node.http("/readyz")[0] == 200, "the controller to lead")
    node.signal(signal.SIGINT)
    assert node.wait() == 0
    epoch = max(event["epoch"] for event in node.events() if event["kind"] == "raft-state")
    node.properties["highwater.incarnation"] = 2
    node.start()
    node.ready()
    processes.wait_until(lambda: node.http("/readyz")[0] == 200, "the controller to lead again")
    node.signal(signal.SIGTERM)
    assert node.wait() == 0
    second = [event for event in node.events() if event["incarnation"] == 2]
    assert max(event["epoch"] for event in second if event["kind"] == "raft-state") > epoch


def test_a_second_signal_does_not_wait(processes):
    """A broker that cannot reach its controllers waits for their leave; whoever is in a hurry says so twice."""
    cluster = processes.cluster(1, 1)
    broker, controller = cluster["broker-0"], cluster["controller-0"]
    processes.wait_until(lambda: broker.http("/readyz")[0] == 200, "the broker to be unfenced")
    controller.signal(signal.SIGKILL)
    controller.wait()
    broker.signal(signal.SIGTERM)
    processes.wait_until(lambda: "stopping" in broker.log, "the stop to begin")
    assert broker.process.poll() is None
    broker.signal(signal.SIGTERM)
    assert broker.wait() == 1
    assert "stopping at once" in broker.log


def test_a_stop_that_takes_too_long_ends_all_the_same(processes):
    cluster = processes.cluster(1, 1, highwater_shutdown_timeout_ms=500)
    broker, controller = cluster["broker-0"], cluster["controller-0"]
    processes.wait_until(lambda: broker.http("/readyz")[0] == 200, "the broker to be unfenced")
    controller.signal(signal.SIGKILL)
    controller.wait()
    broker.signal(signal.SIGTERM)
    assert broker.wait() == 1
    assert "could not stop in time timeout_s=0.5" in broker.log


def test_a_bad_configuration(controller):
    node = controller(highwater_log_format="xml", min_insync_replica=2)
    result = run(node.write_config())
    assert result.returncode == 2
    first, second = result.stderr.splitlines()
    assert "property 'highwater.log.format': expected text or json, found 'xml'" in first
    assert "unknown property 'min.insync.replica'; did you mean 'min.insync.replicas'?" in second
    assert not (node.directory / node.name).exists(), "nothing was begun"


def test_a_configuration_can_be_checked_without_a_start(controller):
    node = controller()
    result = run(node.write_config(), "--check")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not (node.directory / node.name).exists()


def test_help_and_a_wrong_command_line():
    result = run("--help")
    assert result.returncode == 0
    for word in ("CONFIG", "process.roles=broker", "SIGTERM", "exit status", "--check"):
        assert word in result.stdout
    assert run().returncode == 2
    assert run("a", "b").returncode == 2


def test_an_address_in_use(controller):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        node = controller(listeners=f"CONTROLLER://127.0.0.1:{port}").start()
        assert node.wait() == 1
    assert f"cannot listen on 127.0.0.1:{port}" in node.log
    assert not node.ready_path.exists()


def test_a_data_directory_in_use(controller):
    first = controller().start()
    first.ready()
    second = controller("controller-1", log_dirs=first.properties["log.dirs"]).start()
    assert second.wait() == 1
    assert "another process uses this data directory" in second.log


def test_a_data_directory_of_another_node(processes, controller):
    """Found by the core, at its start."""
    cluster = processes.cluster(1, 1)
    broker = cluster["broker-0"]
    broker.ready()
    broker.signal(signal.SIGKILL)
    broker.wait()
    broker.properties["node.id"] = 5
    broker.start()
    assert broker.wait() == 1
    assert "the data directory is not this node's" in broker.log
    assert "node.id" in broker.log
    assert "Traceback" not in broker.log


OTHER_QUORUMS = {
    "cluster.id": {"cluster.id": "another-cluster-000001"},
    "node.id": {"node.id": "1001", "controller.quorum.voters": "1001@127.0.0.1:{port}"},
    "restore controller.quorum.voters": {"controller.quorum.voters": "1000@127.0.0.1:{port},1001@127.0.0.1:1"},
}


@pytest.mark.quick("node.id")
@pytest.mark.parametrize("why", OTHER_QUORUMS)
def test_a_controller_does_not_vote_with_the_disk_of_another_quorum(controller, why):
    node = controller().start()
    node.ready()
    node.signal(signal.SIGKILL)
    node.wait()
    port = node.properties["listeners"].rpartition(":")[2]
    node.properties |= {name: value.format(port=port) for name, value in OTHER_QUORUMS[why].items()}
    node.start()
    assert node.wait() == 1
    assert why in node.log
    assert "Traceback" not in node.log


def test_logs_for_machines(controller):
    node = controller(highwater_log_format="json").start()
    node.ready()
    node.signal(signal.SIGTERM)
    assert node.wait() == 0
    lines = [json.loads(line) for line in node.log.splitlines()]
    # A machine with much else to do holds the loop up; the node warns of it.
    others = {"quorum state", "the event loop was held up"}
    life = [line for line in lines if line["event"] not in others]
    assert [line["event"] for line in life] == ["started", "stopping", "stopped"]
    assert {line["node"] for line in lines} == {"controller-0"}
    assert life[0]["level"] == "info"
    assert life[0]["pid"] == node.process.pid
    assert next(line["state"] for line in lines if line["event"] == "quorum state") == "unattached"


def test_a_disk_that_fails_ends_the_process(controller, processes):
    node = controller()
    node.write_config()
    limit = 60_000
    with node.log_path.open("ab") as log:
        # Past the limit, write(2) fails with EFBIG (the signal is ignored by Python): a disk error like others.
        code = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2);"
            "from highwater_runtime.host.main import run_node; sys.exit(run_node([sys.argv[2]]))"
        )
        node.process = subprocess.Popen([sys.executable, "-c", code, str(limit), str(node.config)], stderr=log)
    node.ready()
    processes.wait_until(lambda: node.http("/readyz")[0] == 200, "the controller to lead")
    # Let the metadata log grow: registrations of brokers that do not exist.
    with socket.create_connection(("127.0.0.1", node.ready()["listeners"]["CONTROLLER"])) as end:
        from uuid import uuid4

        from highwater_runtime.wire.framing import encode_request
        from highwater_runtime.wire.messages.broker_registration_request import (
            BrokerRegistrationRequest,
            Feature,
            Listener,
        )

        end.settimeout(60)
        for number in range(2000):
            request = BrokerRegistrationRequest(
                broker_id=number,
                cluster_id=str(node.properties["cluster.id"]),
                incarnation_id=uuid4(),
                listeners=[Listener(name="PLAINTEXT", host="h" * 200, port=1, security_protocol=0)],
                features=[Feature(name="metadata.version", min_supported_version=7, max_supported_version=12)],
                rack=None,
                previous_broker_epoch=-1,
            )
            try:
                end.sendall(b"".join(encode_request(request, 3, number, "test")))
                if not end.recv(4096):
                    break
            except OSError:
                break
    assert node.wait() == 1
    assert "disk failed" in node.log
    assert "File too large" in node.log


def start_waiting(node, processes, option, path, says):
    """The node, once it says that it waits."""
    node.write_config()
    command = [sys.executable, "-m", "highwater_runtime.host.main", str(node.config), option, str(path)]
    with node.log_path.open("ab") as log:
        node.process = subprocess.Popen(command, stderr=log)
    processes.wait_until(lambda: says in node.log, "the node to say that it waits")
    return node


def start_and_wait_for(node, processes, directory):
    return start_waiting(node, processes, "--wait-for", directory, "waiting")


def test_a_node_that_is_held_begins_when_all_who_hold_it_let_go(controller, processes, tmp_path):
    first, second = tmp_path / "hold-1", tmp_path / "hold-2"
    first.touch()
    second.symlink_to(tmp_path / "nowhere")
    (tmp_path / "holiday").touch()
    node = start_waiting(controller(), processes, "--hold-files", tmp_path / "hold-", "held")
    first.unlink()
    time.sleep(0.2)
    assert not node.ready_path.exists()
    second.unlink()
    node.ready()
    node.signal(signal.SIGTERM)
    assert node.wait() == 0


def test_a_node_that_is_held_can_be_told_to_end(controller, processes, tmp_path):
    (tmp_path / "hold-1").touch()
    node = start_waiting(controller(), processes, "--hold-files", tmp_path / "hold-", "held")
    node.signal(signal.SIGTERM)
    assert node.wait() == 0
    assert not node.ready_path.exists()


@pytest.mark.parametrize("option", ["--hold-files", "--wait-for"])
def test_a_node_that_says_that_it_waits_can_be_told_to_end(controller, tmp_path, option):
    """The signal comes with the log line: whoever reads the line may send it as early."""
    (tmp_path / "hold-1").touch()
    path = tmp_path / ("hold-" if option == "--hold-files" else "never")
    node = controller()
    node.write_config()
    code = (
        "import logging, os, signal, sys; from highwater_runtime.host.main import run_node;"
        "logging.StreamHandler.emit = lambda handler, record: os.kill(os.getpid(), signal.SIGTERM);"
        "sys.exit(run_node(sys.argv[1:]))"
    )
    with node.log_path.open("ab") as log:
        node.process = subprocess.Popen([sys.executable, "-c", code, str(node.config), option, str(path)], stderr=log)
    assert node.wait() == 0


def test_nobody_holds_a_node_from_a_directory_that_is_not_there(controller, processes, tmp_path):
    node = start_waiting(controller(), processes, "--hold-files", tmp_path / "none" / "hold-", "started")
    node.ready()
    node.signal(signal.SIGTERM)
    assert node.wait() == 0


def test_a_node_waits_for_its_volume(controller, processes, tmp_path):
    volume = tmp_path / "volume"
    node = start_and_wait_for(controller(), processes, volume)
    assert not node.ready_path.exists()
    volume.mkdir()
    node.ready()
    node.signal(signal.SIGTERM)
    assert node.wait() == 0


def test_a_node_that_waits_can_be_told_to_end(controller, processes, tmp_path):
    node = start_and_wait_for(controller(), processes, tmp_path / "never")
    node.signal(signal.SIGTERM)
    assert node.wait() == 0
