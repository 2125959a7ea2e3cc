"""What the operator promises about experiments: nothing half-made, every fault healed exactly once, honest verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from experiments.agents import evidence
from experiments.conftest import KIND, SYSTEM, experiment, until

from highwater_chaos.backends.kubernetes.conclusion import concluded
from highwater_chaos.backends.kubernetes.healing import NOT_SEEN
from highwater_operator.experiments import metrics

CONDITIONS = ("Accepted", "SteadyState", "Injected", "Healed", "Completed", "Passed")


def test_an_experiment_gets_a_runner(stage: Any) -> None:
    stage.start()
    stage.api.create(experiment())
    until(lambda: stage.phase() == "SettingUp", "the runner's Job")
    (job,) = stage.jobs()
    uid = stage.get()["metadata"]["uid"]
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == ["--experiment", "default/demo", "--uid", uid]
    assert job["spec"]["backoffLimit"] == 0
    assert stage.condition("Accepted")["status"] == "True"
    assert {stage.condition(one)["status"] for one in ("SteadyState", "Injected", "Healed", "Completed")} == {"Unknown"}
    assert stage.get()["metadata"]["finalizers"] == ["highwater.dev/heal"]
    assert not container["securityContext"]["allowPrivilegeEscalation"]


def test_what_is_refused_is_over(stage: Any) -> None:
    """``kubectl wait --for=condition=Completed`` returns; the same status from every operator that looks."""
    stage.start()
    stage.api.create(experiment(cluster={"switches": {"no-such": False}}))
    until(lambda: stage.condition("Completed").get("status") == "True", "the end")
    status = stage.status()
    assert (status["phase"], status["verdict"], status["observedGeneration"]) == ("Refused", "inconclusive", 1)
    assert status["reason"].startswith("not accepted: spec.cluster.switches.no-such: unknown switch 'no-such'")
    assert status["completedAt"]
    assert {one: (stage.condition(one)["status"], stage.condition(one)["reason"]) for one in CONDITIONS} == {
        "Accepted": ("False", "Invalid"),
        "SteadyState": ("False", "NotAccepted"),
        "Injected": ("False", "NotAccepted"),
        "Healed": ("True", "NotAccepted"),
        "Completed": ("True", "NotAccepted"),
        "Passed": ("Unknown", "NotAccepted"),
    }
    assert {stage.condition(one)["observedGeneration"] for one in CONDITIONS} == {1}
    (event,) = until(lambda: stage.api.objects("v1", "Event", "default"), "the Event")
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "Invalid", 1)
    assert "unknown switch 'no-such'" in event["message"]
    stage.stop()
    stage.start()
    stage.api.create(experiment("next", cluster={"switches": {"no-such": "off"}}))
    until(lambda: stage.phase("next") == "Refused", "the next one")
    assert stage.status() == status
    assert stage.api.delete(*KIND, "demo", "default"), "nothing of ours holds it"


def test_a_cluster_of_a_predecessor_that_is_just_going_is_waited_for(stage: Any) -> None:
    theirs = {"apiVersion": KIND[0], "kind": "LogCluster", "metadata": {"name": "demo", "namespace": "default"}}
    theirs["metadata"]["finalizers"] = ["example.com/slow"]
    stage.api.create({**theirs, "spec": {}})
    assert not stage.api.delete(KIND[0], "LogCluster", "demo", "default")
    stage.start()
    stage.api.create(experiment())
    stage.api.create(experiment("other", cluster={"switches": {"no-such": "off"}}))
    until(lambda: stage.phase("other") == "Refused", "another one")
    said = until(lambda: stage.condition("Accepted"), "the first one to be looked at")
    assert (said["status"], said["reason"]) == ("Unknown", "EarlierClusterEnding")
    assert stage.phase() == ""
    assert "LogCluster demo of an earlier experiment" in said["message"]
    stage.api.patch(KIND[0], "LogCluster", "demo", "default", {"metadata": {"finalizers": None}})
    until(lambda: stage.phase() == "SettingUp", "the runner's Job")


def test_a_runner_that_dies_leaves_nothing_broken(stage: Any) -> None:
    stage.begin()
    one, two = stage.agents
    known = stage.inject(one, 1)
    unanswered = stage.inject(two, 2, state="intent")
    never = stage.inject(two, 3, state="intent", ask=False)
    # As the runner counted before its last write; it was ended before it could count again.
    counts = {"faults": {"planned": 3, "injected": 2, "confirmed": 1, "healed": 0}}
    stage.api.patch(*KIND, "demo", "default", {"status": counts}, "status")
    stage.end_runner()
    until(lambda: stage.phase() == "Completed", "the end")
    assert (one.undone, two.undone) == ([known], [unanswered])
    assert stage.journal() == {known: "undone", unanswered: "undone", never: "undone"}
    status = stage.status()
    assert status["verdict"] == "inconclusive"
    assert "without a verdict" in status["reason"]
    assert stage.condition("Healed")["status"] == "True"
    assert (stage.condition("Completed")["status"], stage.condition("Passed")["status"]) == ("True", "Unknown")
    assert (status["faults"]["injected"], status["faults"]["healed"]) == (2, 2)
    until(lambda: "finalizers" not in stage.get()["metadata"], "the finalizer to go")
    # A request that was on its way is refused from now on.
    assert two.serve("PUT", f"/v1/faults/{never}", b'{"kind": "pause"}')[0] == 409


def test_deleted_in_the_middle_it_is_aborted_healed_and_only_then_gone(stage: Any) -> None:
    stage.begin()
    one, two = stage.agents
    fault = stage.inject(one, 1)
    one.silent = two.silent = True
    assert not stage.api.delete(*KIND, "demo", "default")
    until(lambda: stage.condition("Healed").get("status") == "False", "the agents to be missed", 40.0)
    assert stage.phase() == "Aborting"
    one.silent = False
    # The other agent stays away: it never had the fault, and is nobody's problem.
    until(lambda: stage.get() is None, "the experiment to be gone", 40.0)
    assert one.undone == [fault]
    assert stage.jobs() == []


def test_an_agent_that_is_away_only_delays(stage: Any) -> None:
    stage.begin()
    fault = stage.inject(stage.agents[0], 1)
    stage.agents[0].silent = True
    stage.end_runner()
    until(lambda: stage.condition("Healed").get("status") == "False", "the agent to be missed", 40.0)
    assert fault in stage.condition("Healed")["message"]
    assert stage.phase() == "Aborting"
    stage.agents[0].silent = False
    until(lambda: stage.phase() == "Completed", "the end", 40.0)
    assert stage.agents[0].undone == [fault]


@pytest.mark.quick("0-after", "1-before", "2-after")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("skip", range(4))
def test_a_crash_around_any_write(stage: Any, when: str, skip: int) -> None:
    """The operator is cut off around its n-th write, and another one takes over."""
    stage.api.create(experiment())
    stage.cut_off_around_a_write(when, skip, lambda: stage.phase() == "SettingUp")
    until(stage.runner_pods, "the runner")
    until(lambda: stage.phase() == "SettingUp", "the runner's Job")
    fault = stage.inject(stage.agents[0], 1)
    stage.stop()
    stage.end_runner()
    stage.cut_off_around_a_write(when, skip, lambda: stage.phase() == "Completed")
    until(lambda: stage.phase() == "Completed", "the end")
    assert stage.agents[0].undone == [fault]
    assert stage.journal() == {fault: "undone"}
    assert len(stage.api.objects("batch/v1", "Job", SYSTEM)) == 0


def test_bad_days_of_the_api_server_only_delay(stage: Any) -> None:
    for status in (409, 429, 500, 503):
        stage.api.fault(verb="patch", status=status, times=2)
    stage.start()
    stage.api.create(experiment())
    until(lambda: stage.phase() == "SettingUp", "the runner's Job")
    fault = stage.inject(stage.agents[0], 1)
    for status in (409, 500):
        stage.api.fault(verb="patch", status=status, times=1)
    stage.end_runner()
    until(lambda: stage.phase() == "Completed", "the end")
    assert stage.agents[0].undone == [fault]


def test_a_status_that_another_wrote_meanwhile_is_not_written_over(stage: Any) -> None:
    """Conditions are one list to a merge patch: written over an old version, they would lose those of others."""
    other = {"type": "Other", "status": "True", "reason": "R", "message": "m", "observedGeneration": 1}
    other["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    written = []

    def write_first(asked: Any) -> bool:
        if not written:
            written.append(asked)
            stage.api.patch(*KIND, "demo", "default", {"status": {"conditions": [other]}}, "status")
        return False

    stage.api.fault(verb="patch", resource="chaosexperiments/status", matches=write_first)
    stage.start()
    stage.api.create(experiment())
    until(lambda: stage.phase() == "SettingUp", "the runner's Job")
    assert written
    assert other in stage.status()["conditions"]


def test_two_at_once_do_not_touch_each_other(stage: Any) -> None:
    stage.start()
    for name in ("left", "right"):
        stage.api.create(experiment(name))
    until(lambda: len(stage.runner_pods()) == 2, "two runners")
    left = stage.inject(stage.agents[0], 1, name="left")
    right = stage.inject(stage.agents[0], 1, name="right")
    stage.api.delete(*KIND, "left", "default")
    until(lambda: stage.get("left") is None, "left to be gone")
    assert stage.agents[0].undone == [left]
    assert stage.agents[0].in_force() == [right]
    assert stage.phase("right") == "Injecting"


def test_a_fault_that_nobody_saw_end_stays_so_at_the_next_look(stage: Any) -> None:
    """Its deadline is long over and no agent answers. The operator is interrupted after it has written that down."""
    stage.begin()
    fault = stage.inject(stage.agents[0], 1, deadline="2020-01-01T00:00:00Z")
    for agent in stage.agents:
        agent.silent = True
    again = stage.api.fault(
        verb="patch",
        resource="chaosexperiments/status",
        status=409,
        matches=lambda asked: stage.condition("Healed").get("reason") == "NotSeen",
    )
    stage.end_runner()
    until(lambda: stage.phase() == "Completed", "the end")
    assert len(again.hits) == 1
    healed = stage.condition("Healed")
    assert (healed["status"], healed["reason"]) == ("Unknown", "NotSeen")
    assert fault in healed["message"]
    assert stage.status()["faults"] == {"planned": 1, "injected": 1, "confirmed": 0, "healed": 0}
    assert [one["reason"] for one in stage.api.objects("v1", "Event", "default")].count("Verified") == 0


def test_an_agent_that_is_being_replaced_may_have_the_fault(stage: Any) -> None:
    """All others say that they never had it."""
    stage.begin()
    uid = stage.get()["metadata"]["uid"]
    owner = {"apiVersion": KIND[0], "kind": KIND[1], "name": "demo", "uid": uid}
    meta = {"name": "demo", "namespace": "default", "ownerReferences": [owner]}
    spec = {"brokers": 1, "controllers": 1, "storage": {"crashable": True}}
    stage.api.create({"apiVersion": KIND[0], "kind": "LogCluster", "metadata": meta, "spec": spec})

    def homes() -> set[str]:
        pods = stage.api.objects("v1", "Pod", "default")
        return {str(pod["spec"].get("nodeName")) for pod in pods}

    until(lambda: homes() == {"node-0", "node-1"}, "the cluster")
    fault = stage.inject(stage.agents[0], 1)
    stage.api.delete("v1", "Pod", "highwater-agent-node-0", SYSTEM)
    until(lambda: stage.api.get("v1", "Pod", "highwater-agent-node-0", SYSTEM) is None, "the agent to go")
    stage.end_runner()
    until(lambda: stage.condition("Healed").get("status") == "False", "the agent to be missed")
    assert "node node-0: no agent is there" in stage.condition("Healed")["message"]
    assert (stage.phase(), stage.journal()) == ("Aborting", {fault: "done"})
    stage.place(stage.agents[0], "node-0")
    until(lambda: stage.phase() == "Completed", "the end")
    assert stage.agents[0].undone == [fault]
    assert stage.condition("Healed")["reason"] == "Verified"


def test_an_undo_that_its_probe_does_not_confirm_is_not_called_verified(stage: Any) -> None:
    stage.begin()
    agent = stage.agents[0]
    agent.heal = lambda fault, body: [
        evidence("processes of default/demo-broker-0: 1 stopped", "heal", confirmed=False),
        evidence("nothing of it is left; undone by request", "heal"),
    ]
    fault = stage.inject(agent, 1)
    stage.end_runner()
    until(lambda: stage.phase() == "Completed", "the end")
    healed = stage.condition("Healed")
    assert (healed["status"], healed["reason"]) == ("Unknown", "NotSeen")
    assert fault in healed["message"]
    (entry,) = stage.status()["journal"]
    assert "1 stopped" in entry["evidence"]


def test_a_verdict_does_not_say_that_faults_are_gone_which_nobody_saw_end() -> None:
    """A judging Job concludes what the operator has healed."""
    entry = {"id": "a-1", "step": "pause broker-0", "at": "2026-01-01T00:00:00Z", "deadline": "2026-01-01T00:01:00Z"}
    verdict = {"expected": True, "reason": "", "kept": "", "anomalies": {}, "faults": None}
    for state, saw, phase, condition in (
        ("undone", f"its deadline is over; {NOT_SEEN}: no answer", "Completed", ("Unknown", "NotSeen")),
        ("undone", "gone", "Completed", ("True", "Verified")),
        ("done", "stopped", "Aborting", ("False", "FaultsOpen")),
    ):
        journal = [{**entry, "state": state, "evidence": saw}]
        status = concluded({"metadata": {}, "status": {"journal": journal}}, "pass", **verdict)
        (healed,) = [one for one in status["conditions"] if one["type"] == "Healed"]
        assert (status["phase"], (healed["status"], healed["reason"])) == (phase, condition)


def test_a_runner_that_is_asked_to_stop_may_end_its_run(stage: Any) -> None:
    """Until Kubernetes 1.30 a Job has failed once its pod is being deleted, while the runner keeps what it recorded."""
    stage.world.pods.lingers = lambda pod: pod["spec"].get("restartPolicy") == "Never"
    stage.start()
    stage.api.create(experiment())
    (name,) = until(stage.runner_pods, "the runner")
    until(lambda: (SYSTEM, name) in stage.world.pods.started, "the pod to be started")
    fault = stage.inject(stage.agents[0], 1)
    stage.api.delete("v1", "Pod", name, SYSTEM)
    (job,) = stage.jobs()
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too often"}
    failed |= {"lastProbeTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    stage.api.patch("batch/v1", "Job", job["metadata"]["name"], SYSTEM, {"status": {"conditions": [failed]}}, "status")
    looks: list[Any] = []
    stage.api.fault(verb="get", resource="jobs", matches=lambda asked: bool(looks.append(asked)))
    until(lambda: len(looks) > 3, "the operator to look")
    assert (stage.phase(), stage.agents[0].undone) == ("Injecting", [])
    stage.world.pods.let_go(SYSTEM, name)
    until(lambda: stage.phase() == "Completed", "the end")
    assert stage.agents[0].undone == [fault]
    assert "BackoffLimitExceeded" in stage.status()["reason"]


def test_what_was_deleted_while_nobody_watched_is_not_shown_for_ever(stage: Any) -> None:
    """An alert on its verdict would go on."""
    stage.pace = replace(stage.pace, over=0.5)
    stage.start()
    stage.api.create(experiment(cluster={"switches": {"no-such": "off"}}))
    until(lambda: stage.phase() == "Refused", "the refusal")
    until(lambda: ("default", "demo") in metrics.EXPERIMENTS._known, "its series")
    stage.api.fault(verb="watch", resource="chaosexperiments", status=503, times=None)
    stage.api.cut_watches("chaosexperiments")
    assert stage.api.delete(*KIND, "demo", "default")
    stage.api.store.compact()
    stage.api.faults.clear()
    until(lambda: ("default", "demo") not in metrics.EXPERIMENTS._known, "its series to end", 30.0)
