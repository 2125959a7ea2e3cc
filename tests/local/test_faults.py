"""Each fault once on real processes, as root: it takes hold, shows, is healed, and nothing acknowledged is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import states

from highwater_chaos.backends.local.control import ControlError
from highwater_chaos.backends.local.host_faults import HostFaults
from highwater_chaos.backends.local.isolated import local_backend
from highwater_chaos.backends.protocol import BackendError, NodeState
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.run.result import RunResult
from highwater_chaos.verdict.check import check_recordings
from highwater_chaos.verdict.checked_run import write_run
from highwater_pipeline.anomalies import ON_REQUEST

PROCESSES = """
- inject: {kill: {target: {broker: 1}, restartAfter: 300ms}}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- inject: {stop: {target: {broker: 1}, restartAfter: 300ms}}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {restart: {target: {broker: 1}}}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {pause: {target: {broker: 1}}, for: 1s}
- wait: 1500ms
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {sessionExpiry: {target: {broker: 1}}, for: 500ms}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {clockSkew: {target: {broker: 1}, offset: 1h, rate: 1.5}, for: 500ms}
- wait: 1s
"""

MESSAGES = """
- inject: {name: held, hold: {rpc: BrokerHeartbeat, from: {broker: 1}}}
- inject: {name: late, delay: {rpc: Fetch, from: {broker: 1}, to: {broker: 0}, of: response, by: 100ms}}
- inject: {name: lost, drop: {rpc: BrokerHeartbeat, from: {broker: 0}}}
- inject: {name: twice, duplicate: {rpc: Produce, to: {leaderOf: orders-0}}}
- await: {caught: {name: held}, within: 30s}
- await: {caught: {name: late, atLeast: 3}, within: 30s}
- await: {caught: {name: lost}, within: 30s}
- await: {caught: {name: twice}, within: 30s}
- heal: all
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {name: again, hold: {rpc: BrokerHeartbeat, to: {controller: 0}, from: {broker: 0}}}
- inject: {kill: {target: {controller: 0}, restartAfter: 200ms}}
- await: {caught: {name: again}, within: 60s}
- heal: again
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
"""

DISKS = """
- inject: {powerLoss: {target: {broker: 1}, keep: none, restartAfter: 200ms}}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {powerLoss: {target: {broker: 1}, keep: prefix, wipe: true, restartAfter: 200ms}}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {diskWipe: {target: {broker: 1}, restartAfter: 200ms}}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {name: full, diskFull: {target: {broker: 1}}}
- wait: 1s
- heal: full
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {name: failing, diskError: {target: {broker: 1}}}
- wait: 1s
- heal: failing
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {name: slow, diskStall: {target: {broker: 1}}}
- wait: 2s
- heal: slow
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {name: frozen, diskStall: {target: {leaderOf: orders-0}, writes: true}}
- wait: 3s
- heal: frozen
- await: {broker: {id: 0, state: unfenced}, within: 60s}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
"""

XFS = """
- inject: {name: frozen, diskStall: {target: {broker: 1}, writes: true}}
- wait: 500ms
- heal: frozen
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {powerLoss: {target: {broker: 1}, keep: none, restartAfter: 200ms}}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {diskError: {target: {broker: 1}}, for: 500ms}
- wait: 700ms
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
"""

CUTS = """
- inject: {name: both, partition: {between: [{broker: 0}, {broker: 1}]}}
- await: {isr: {partition: orders-0, size: 1}, within: 60s}
- heal: both
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {name: oneway, partition: {isolate: {broker: 1}, direction: aToB}}
- await: {isr: {partition: orders-0, equals: [0]}, within: 60s}
- heal: oneway
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
"""


def judged(experiment: ChaosExperiment, folder: Path) -> RunResult:
    """Run, write down and judge; every fault is confirmed and healed, and nothing is wrong."""
    result = run_experiment(experiment, local_backend())
    write_run(folder, experiment, result, wire=False)
    assert result.inconclusive_reasons == []
    assert [record.to_dict() for record in result.faults if not (record.confirmed and record.healed)] == []
    run_verdict = check_recordings(experiment, folder)
    assert (run_verdict.verdict, run_verdict.reasons) == ("pass", [])
    assert [violation for violation in result.violations if violation.name not in ON_REQUEST] == []
    return result


def evidence(result: RunResult, kind: str) -> str:
    """Everything that was seen of the faults of a kind."""
    found = [record for record in result.faults if record.kind == kind]
    assert found
    return "; ".join(item.what for record in found for item in (*record.inject_evidence, *record.heal_evidence))


@pytest.mark.whole_machine
def test_faults_on_processes_network_and_messages(
    experiment: Callable[..., ChaosExperiment], state: Path, tmp_path: Path
) -> None:
    result = judged(experiment(PROCESSES + CUTS + MESSAGES), tmp_path)
    assert "the process of broker-1 is stopped" in evidence(result, "pause")
    assert "the session of broker-1 was seen expired" in evidence(result, "sessionExpiry")
    assert "runs at rate 1.5" in evidence(result, "clockSkew")
    seen = evidence(result, "partition")
    assert "a probe from broker-0 to broker-1 was lost" in seen
    assert "a probe from broker-1 to broker-0 was lost" in seen
    assert "a probe from broker-1 to controller-0 was lost" in seen
    assert "a probe from controller-0 to broker-1 was lost" not in seen, "only one way"
    for kind in ("hold", "delay", "drop", "duplicate"):
        assert "caught" in evidence(result, kind)
    assert list(result.metrics), "nodes tell their metrics meanwhile"
    assert {"logs/broker-1.log", "config/broker-1.properties", "logs/controller-0.log"} <= set(result.files)
    incarnations = [item.data.get("incarnation") for record in result.faults for item in record.inject_evidence]
    assert 4 in incarnations, "killed, stopped and restarted"


@pytest.mark.thorough
@pytest.mark.whole_machine
def test_faults_on_disks(experiment: Callable[..., ChaosExperiment], state: Path, tmp_path: Path) -> None:
    result = judged(experiment(DISKS), tmp_path)
    assert "the disk of broker-1 is empty" in evidence(result, "powerLoss")
    assert "unsynced bytes" in evidence(result, "powerLoss")
    assert "the disk of broker-1 is empty" in evidence(result, "diskWipe")
    assert "saw ENOSPC" in evidence(result, "diskFull")
    assert "saw EIO" in evidence(result, "diskError")
    assert "saw stalled" in evidence(result, "diskStall")
    assert "saw ok" in evidence(result, "diskStall")
    assert "saw blocked" in evidence(result, "diskStall")


@pytest.mark.thorough
@pytest.mark.whole_machine
def test_power_loss_on_xfs(experiment: Callable[..., ChaosExperiment], state: Path, tmp_path: Path) -> None:
    result = judged(experiment(XFS, cluster="    fileSystem: xfs"), tmp_path)
    assert "unsynced bytes" in evidence(result, "powerLoss")
    assert "saw EIO" in evidence(result, "diskError")
    assert "saw blocked" in evidence(result, "diskStall")


@pytest.mark.whole_machine
def test_a_node_that_waits_for_its_disk_keeps_nobody_waiting(
    experiment: Callable[..., ChaosExperiment], state: Path, await_true: Callable[..., None]
) -> None:
    """Whatever the harness asks of it meanwhile, and whatever it looks at, lies elsewhere or is not touched."""
    backend = local_backend()
    try:
        backend.build(experiment("- wait: 1s").cluster, 1)
        node = backend._nodes["controller-0"]
        point = backend._volumes["controller-0"]._point  # type: ignore[attr-defined]
        assert node.place.data.is_relative_to(point)
        for path in (node.place.files, node.place.record, node.log):
            assert not path.is_relative_to(point), "what is not data is out of the faults' reach"

        def waits() -> bool:
            backend.advance(backend.now_ns() + 20_000_000)
            assert node._process is not None
            (process,) = node._process.resource.members()
            return "D" in states(process.pid)

        await_true(lambda: waits() or (node.channel is not None and node.channel.is_open), "it can be reached")
        assert node.channel is not None
        backend.block_writes("controller-0")  # type: ignore[attr-defined]
        node.channel.ask("diskProbe", {}, lambda _: None)  # an idle controller writes nothing of its own accord
        await_true(waits, "it waits in the kernel")
        began = time.monotonic()
        with pytest.raises(BackendError, match="controller-0 cannot be asked for its clock"):
            backend.clock_error("controller-0")
        backend.skew_clock("controller-0", 7_000_000_000, 1.0)
        list(backend.metric_samples())
        assert backend.disk_probe("controller-0") == "blocked"
        assert backend.disk_is_empty("controller-0") is False
        assert (backend.state("controller-0"), backend.process_state("controller-0")) == (NodeState.UP, "running")
        assert time.monotonic() - began < 8, "each of them waits for ten seconds or for ever"
        backend.disk_heal("controller-0")
        await_true(lambda: backend.disk_probe("controller-0") == "ok", "its own flushes end, too")
        assert round(backend.clock_error("controller-0")[0] / 1e9) == 7, "it hears what was said meanwhile"
    finally:
        backend.close()


@pytest.mark.whole_machine
def test_a_disk_that_is_still_frozen_is_not_touched_by_the_harness(
    experiment: Callable[..., ChaosExperiment], state: Path, await_true: Callable[..., None]
) -> None:
    backend = local_backend()
    try:
        backend.build(experiment("- wait: 1s").cluster, 1)
        backend.kill("broker-1")
        backend.block_writes("broker-1")  # type: ignore[attr-defined]
        with pytest.raises(BackendError, match="the disk of broker-1 takes no writes"):
            backend.start("broker-1")
        with pytest.raises(BackendError, match="what broker-1 has on its disk could not be read"):
            list(backend.replica_dump())
    finally:
        backend.close()


@pytest.mark.thorough
@pytest.mark.whole_machine
def test_a_clock_and_flushes_stay_wrong_while_processes_come_and_go(
    experiment: Callable[..., ChaosExperiment], state: Path, await_true: Callable[..., None]
) -> None:
    """As in the simulator, where they belong to the machine. The node itself is asked, in each incarnation."""
    backend = local_backend()

    def told() -> tuple[float, int, bool] | None:
        backend.advance(backend.now_ns() + 20_000_000)
        channel = backend._channel("broker-1")
        if channel is None or not channel.is_open:
            return None
        error = channel.call("clockError")
        return error["rate"], round(error["offsetNs"] / 1e9), channel.call("isStalled")

    try:
        backend.build(experiment("- wait: 1s").cluster, 1)
        await_true(told, "broker-1 can be reached")
        backend.skew_clock("broker-1", 7_000_000_000, 1.000001)
        backend.stall_disk("broker-1")
        assert told() == (1.000001, 7, True)
        backend.kill("broker-1")
        assert backend.clock_error("broker-1")[1] == 1.000001, "of the machine, where no process runs"
        assert backend.disk_probe("broker-1") == "stalled"
        backend.start("broker-1")
        await_true(lambda: told() == (1.000001, 7, True), "the next incarnation has the wrong clock too")
        backend.pause("broker-1", None)
        began = time.monotonic()
        backend.skew_clock("broker-1", 0, 1.0)
        backend.disk_heal("broker-1")
        with pytest.raises(BackendError, match="broker-1 cannot be asked for its clock"):
            backend.clock_error("broker-1")
        assert time.monotonic() - began < 5, "nobody waits for a paused node"
        backend.resume("broker-1")
        await_true(lambda: told() == (1.0, 0, False), "it is healed as it runs on")
        backend.kill("broker-1")
        backend.start("broker-1")
        await_true(lambda: told() == (1.0, 0, False), "and stays so")
    finally:
        backend.close()


def test_the_clock_of_other_software_is_not_said_to_be_wrong() -> None:
    faults = HostFaults(["broker-0"], lambda node: None, lambda node: False)
    with pytest.raises(ControlError, match="happens inside a node of ours, and zookeeper-0 is none"):
        faults.set_clock("zookeeper-0", 1, 1.0)
    with pytest.raises(ControlError, match="happens inside a node of ours"):
        faults.stall("zookeeper-0")
    faults.set_clock("zookeeper-0", 0, 1.0)  # what a heal does
    assert (faults.clock_error("zookeeper-0"), faults.is_stalled("zookeeper-0")) == ((0, 1.0), False)


@pytest.mark.thorough
@pytest.mark.whole_machine
def test_a_node_that_ends_by_itself_makes_the_run_inconclusive(
    experiment: Callable[..., ChaosExperiment], state: Path, await_true: Callable[..., None]
) -> None:
    """Who dies without a fault to blame for it makes the run one that cannot be judged; its log says why."""
    backend = local_backend()
    chosen = experiment("- wait: 1s", cluster="    metadataVersion: 3.6-IV0")
    try:
        backend.build(chosen.cluster, 1)
        await_true(lambda: backend.events_since(0), "the first node runs")
        (backend._nodes["broker-0"].place.files / "node.properties").write_text("node.id=nonsense\n")
        backend.kill("broker-0")
        backend._nodes["broker-0"].program.launch = lambda plan, place, incarnation: _broken(place)  # type: ignore[method-assign]
        backend.start("broker-0")

        def noticed() -> bool:
            backend.advance(backend.now_ns() + 50_000_000)
            return bool(backend.inconclusive_reasons())

        await_true(noticed, "its end is noticed")
        (reason,) = backend.inconclusive_reasons()
        assert reason.startswith("broker-0 ended by itself in incarnation 2 (status 3); its log ends:")
        assert reason.endswith("this is the end")
        last = [timed.event for timed in backend.events_since(0) if timed.node == "broker-0"][-1]
        assert getattr(last, "reason", None) == "crash"
    finally:
        backend.close()


def _broken(place: object) -> object:
    from highwater_chaos.backends.local.program import Launch

    return Launch(("sh", "-c", "echo this is the end; exit 3"))
