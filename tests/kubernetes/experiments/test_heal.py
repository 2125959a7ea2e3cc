"""``highwater heal --namespace``: everything is undone without an operator, honestly, and beside one that is there."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from api_server.rbac import Grant
from experiments.agents import TOKEN, TRUST, evidence
from experiments.conftest import KIND, SYSTEM, experiment, until

from highwater_chaos.backends.kubernetes.healing import NOT_SEEN
from highwater_chaos.backends.kubernetes.namespace_heal import needed_rights
from highwater_chaos.cli import execute

Heal = Callable[..., int]
SECRET = "highwater-agent-token"
CERTIFICATE = "highwater-agent-tls"


@pytest.fixture
def heal(stage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Heal:
    """The command as somebody runs it whose rights are just those that it says it needs."""
    token = base64.b64encode(TOKEN.encode()).decode()
    meta = {"name": SECRET, "namespace": SYSTEM}
    stage.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"token": token}})
    published = {"name": CERTIFICATE, "namespace": SYSTEM}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": published, "data": {"ca.crt": TRUST.authority}}
    stage.api.create(made)
    rights(stage, lambda right: True)
    monkeypatch.setenv("KUBECONFIG", str(stage.api.kubeconfig(tmp_path / "kubeconfig", "somebody")))

    def run(*arguments: str, namespace: str = "default") -> int:
        return execute(("heal", "--namespace", namespace, "--timeout", "2", *arguments))

    return run


def rights(stage: Any, wanted: Callable[[str], bool]) -> None:
    grants = [Grant([{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}])]
    for right in needed_rights("default", SYSTEM, SECRET, CERTIFICATE):
        if wanted(str(right)):
            rule = {"apiGroups": [right.group], "resources": [right.resource], "verbs": [right.verb]}
            rule |= {"resourceNames": [right.name]} if right.name else {}
            grants.append(Grant([rule], right.namespace))
    stage.api.authorizer.add_user("somebody", "somebody", grants)


def under_way(stage: Any, name: str = "demo") -> None:
    """As an operator leaves it that is gone: accepted, a runner, no more."""
    stage.start()
    stage.api.create(experiment(name))
    until(lambda: stage.phase(name) == "SettingUp", "the runner's Job")
    stage.stop()


def test_everything_is_undone_without_an_operator(stage: Any, heal: Heal, capsys: Any) -> None:
    under_way(stage)
    one, two = stage.agents
    known = stage.inject(one, 1)
    unanswered = stage.inject(two, 2, state="intent")
    never = stage.inject(two, 3, state="intent", ask=False)
    stranger = {"kind": "pause", "pod": {"namespace": "default", "name": "lost-broker-0"}}
    elsewhere = {"kind": "pause", "pod": {"namespace": "other", "name": "their-broker-0"}}
    for fault, body in (("orphan-1", stranger), ("theirs-1", elsewhere)):
        assert two.serve("PUT", f"/v1/faults/{fault}", json.dumps(body).encode())[0] == 200

    assert heal("--dry-run") == 0
    said = capsys.readouterr().out
    assert f"would undo: demo: pause broker-0 ({known})" in said
    assert "would end: chaosexperiment/demo" in said
    assert (one.undone, stage.phase()) == ([], "Injecting")

    assert heal() == 0
    said = capsys.readouterr().out
    assert f"undone: demo: pause broker-0 ({known}): healed at node node-0: gone" in said
    assert "undone: pause on pod lost-broker-0 (orphan-1): healed at node node-1: gone" in said
    assert "ended: chaosexperiment/demo" in said
    assert (one.undone, sorted(two.undone)) == ([known], sorted([unanswered, "orphan-1"]))
    assert two.in_force() == ["theirs-1"]
    assert stage.journal() == {known: "undone", unanswered: "undone", never: "undone"}
    assert two.serve("PUT", f"/v1/faults/{never}", b'{"kind": "pause"}')[0] == 409
    status = stage.status()
    assert (status["phase"], status["verdict"]) == ("Completed", "inconclusive")
    assert status["faults"] == {"planned": 1, "injected": 1, "confirmed": 0, "healed": 1}
    assert stage.condition("Healed")["status"] == stage.condition("Completed")["status"] == "True"
    assert stage.jobs() == []
    assert stage.get()["metadata"]["finalizers"] == ["highwater.dev/heal"]

    assert heal() == 0
    assert "nothing to heal in default" in capsys.readouterr().out


def test_agents_are_asked_where_nothing_of_ours_is_left(stage: Any, heal: Heal, capsys: Any) -> None:
    """Neither an experiment nor a pod of a LogCluster: pods of others have no label of ours."""
    one, two = stage.agents
    body = {"kind": "cordon", "pod": {"namespace": "default", "name": "kafka-0"}}
    assert two.serve("PUT", "/v1/faults/left-1", json.dumps(body).encode())[0] == 200
    one.silent = True
    assert heal() == 1
    said = capsys.readouterr().out
    assert "undone: cordon on pod kafka-0 (left-1): healed at node node-1: gone" in said
    assert "LEFT: node node-0: what is in force on its pods is not known: " in said
    assert two.in_force() == []
    one.silent = False
    assert heal() == 0
    assert "nothing to heal in default" in capsys.readouterr().out


def test_what_is_being_deleted_may_go(stage: Any, heal: Heal, capsys: Any) -> None:
    under_way(stage)
    fault = stage.inject(stage.agents[0], 1)
    assert not stage.api.delete(*KIND, "demo", "default")
    assert heal() == 0
    assert "the operator's finalizer, since no operator answers" in capsys.readouterr().out
    assert stage.get() is None
    assert stage.agents[0].undone == [fault]


def test_an_agent_that_is_away_is_said_and_nothing_is_claimed(stage: Any, heal: Heal, capsys: Any) -> None:
    under_way(stage)
    one, two = stage.agents
    kept, healed = stage.inject(one, 1), stage.inject(two, 2)
    one.silent = True
    assert not stage.api.delete(*KIND, "demo", "default")
    assert heal() == 1
    said = capsys.readouterr().out
    assert f"LEFT: demo: {kept} (pause broker-0): node node-0: agent highwater-system/highwater-agent-node-0" in said
    assert "LEFT: demo: it stays Aborting" in said
    assert "ended" not in said
    assert stage.journal() == {kept: "done", healed: "undone"}
    assert stage.phase() == "Aborting"
    assert stage.get()["metadata"]["finalizers"] == ["highwater.dev/heal"]
    one.silent = False
    assert heal() == 0
    assert stage.get() is None
    assert (one.undone, two.undone) == ([kept], [healed])


def test_no_agent_at_all(stage: Any, heal: Heal, capsys: Any) -> None:
    under_way(stage)
    fault = stage.inject(stage.agents[0], 1)
    for index in range(2):
        stage.api.delete("v1", "Pod", f"highwater-agent-node-{index}", SYSTEM)
    agents = lambda: stage.api.get("v1", "Pod", "highwater-agent-node-1", SYSTEM)  # noqa: E731
    until(lambda: agents() is None, "the agents to go")
    assert heal() == 1
    out, err = capsys.readouterr()
    assert f"LEFT: demo: {fault} (pause broker-0): no agent is there" in out
    assert "--system-namespace" in err


def test_a_fault_that_nobody_saw_end_is_said_by_every_run_of_the_command(stage: Any, heal: Heal, capsys: Any) -> None:
    """The first one was interrupted after it had given the fault up."""
    under_way(stage)
    fault = stage.inject(stage.agents[0], 1, deadline="2020-01-01T00:00:00Z")
    given_up = f"its deadline is over; {NOT_SEEN}: no answer"
    journal = [{**one, "state": "undone", "evidence": given_up} for one in stage.status()["journal"]]
    stage.api.patch(*KIND, "demo", "default", {"status": {"phase": "Aborting", "journal": journal}}, "status")
    assert heal() == 1
    assert f"LEFT: demo: pause broker-0 ({fault}): {given_up}" in capsys.readouterr().out
    assert stage.phase() == "Completed"
    healed = stage.condition("Healed")
    assert (healed["status"], healed["reason"]) == ("Unknown", "NotSeen")


def test_what_an_agent_undoes_in_vain_is_left(stage: Any, heal: Heal, capsys: Any) -> None:
    """Of an experiment, and of none."""
    under_way(stage)
    one, two = stage.agents
    fault = stage.inject(one, 1)
    stranger = {"kind": "pause", "pod": {"namespace": "default", "name": "lost-broker-0"}}
    assert two.serve("PUT", "/v1/faults/orphan-1", json.dumps(stranger).encode())[0] == 200
    for agent in (one, two):
        agent.heal = lambda fault, body: [evidence("1 stopped", "heal", confirmed=False)]
    assert heal() == 1
    said = capsys.readouterr().out
    assert f"LEFT: demo: pause broker-0 ({fault}): healed at node node-0: {NOT_SEEN}: 1 stopped" in said
    assert f"LEFT: pause on pod lost-broker-0 (orphan-1): healed at node node-1: {NOT_SEEN}: 1 stopped" in said
    assert stage.condition("Healed")["reason"] == "NotSeen"


def test_an_agent_that_is_missing_may_have_the_fault(stage: Any, heal: Heal, capsys: Any) -> None:
    """The other one says that it never had it."""
    under_way(stage)
    meta = {"name": "demo-broker-0", "namespace": "default", "labels": {"highwater.dev/cluster": "demo"}}
    spec = {"nodeName": "node-0", "containers": [{"name": "node", "image": "highwater/node:test"}]}
    stage.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    fault = stage.inject(stage.agents[0], 1)
    stage.api.delete("v1", "Pod", "highwater-agent-node-0", SYSTEM)
    until(lambda: stage.api.get("v1", "Pod", "highwater-agent-node-0", SYSTEM) is None, "the agent to go")
    assert heal() == 1
    assert f"LEFT: demo: {fault} (pause broker-0): node node-0: no agent is there" in capsys.readouterr().out
    assert (stage.phase(), stage.journal()) == ("Aborting", {fault: "done"})


def test_beside_an_operator(stage: Any, heal: Heal) -> None:
    under_way(stage)
    one, two = stage.agents
    faults = [stage.inject(one, 1), stage.inject(two, 2)]
    stage.start()
    assert heal() == 0
    until(lambda: stage.phase() == "Completed", "the end")
    assert one.undone + two.undone == faults
    assert set(stage.journal().values()) == {"undone"}
    assert stage.status()["verdict"] == "inconclusive"
    stage.api.delete(*KIND, "demo", "default")
    until(lambda: stage.get() is None, "the operator to let go")


@pytest.mark.parametrize(
    "lacking", ["get pods/portforward", "get secrets", "get configmaps", "patch chaosexperiments/status"]
)
def test_rights_that_are_missing_are_named(stage: Any, heal: Heal, capsys: Any, lacking: str) -> None:
    under_way(stage)
    stage.inject(stage.agents[0], 1)
    rights(stage, lambda right: not right.startswith(lacking))
    assert heal() == 254
    said = capsys.readouterr().err
    assert "rights are missing, nothing was done" in said
    assert lacking in said
    assert stage.phase() == "Injecting"


def test_an_agent_whose_authority_is_another_is_told_nothing(stage: Any, heal: Heal, capsys: Any) -> None:
    under_way(stage)
    fault = stage.inject(stage.agents[0], 1)
    stranger = trustme.CA().cert_pem.bytes().decode()
    stage.api.patch("v1", "ConfigMap", CERTIFICATE, SYSTEM, {"data": {"ca.crt": stranger}})
    assert heal() == 1
    assert "its certificate is not signed by the authority that is trusted" in capsys.readouterr().out
    assert stage.agents[0].undone == []
    stage.api.delete("v1", "ConfigMap", CERTIFICATE, SYSTEM)
    assert heal() == 254
    assert "with the agents' authority in 'ca.crt': there is none" in capsys.readouterr().err
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CERTIFICATE, "namespace": SYSTEM}}
    stage.api.create({**made, "data": {"ca.crt": TRUST.authority}})
    assert heal() == 0
    assert stage.agents[0].undone == [fault]


def test_a_namespace_that_is_not_there_or_not_to_be_had(stage: Any, heal: Heal, capsys: Any) -> None:
    assert heal(namespace="nowhere") == 254
    assert "there is no namespace nowhere" in capsys.readouterr().err
    stage.api.fault(verb="get", resource="namespaces", status=400)
    assert heal() == 254
    assert "highwater heal --namespace default: get namespaces default" in capsys.readouterr().err
