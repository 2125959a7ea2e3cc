"""What a LogCluster consists of, by itself: complete, strictly valid, unprivileged, and readable by the node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from highwater_chaos.kube.cluster_id import cluster_id_of
from highwater_operator.agent import places
from highwater_operator.experiments.runner_job import RUNNER
from highwater_operator.experiments.runner_job import labels_of as labels_of_job
from highwater_operator.objects.agent_nodes import AgentNodes
from highwater_operator.objects.all import objects_of
from highwater_operator.objects.config_map import config_hash, data_path
from highwater_operator.objects.images import Images
from highwater_operator.objects.naming import CLUSTER_LABEL, ROLES, Owner, host_of, roles_of
from highwater_operator.objects.stateful_set import user_of
from highwater_operator.resources import LogClusterSpec
from highwater_runtime.host.config.file import read_settings
from highwater_runtime.ports import Endpoint

SPECS: dict[str, dict[str, Any]] = {
    "default": {},
    "one-and-one": {"brokers": 1, "controllers": 1},
    "crashable": {"storage": {"crashable": True}},
    "zookeeper": {"mode": "zookeeper"},
    "zookeeper-crashable": {"mode": "zookeeper", "zookeepers": 1, "storage": {"crashable": True}},
    "apache-kafka": {"runtime": "apache-kafka", "version": "3.4.1"},
    "apache-kafka-zookeeper": {"runtime": "apache-kafka", "version": "2.8.2", "mode": "zookeeper"},
    "configured": {
        "config": {"min.insync.replicas": 2, "auto.create.topics.enable": False},
        "switches": {"replica-epoch-check": "off"},
        "metadataVersion": "3.5",
        "image": "registry/node:1",
        "storage": {"className": "fast", "size": "10Gi", "whenDeleted": "Retain"},
    },
}


def owner(name: str = "demo", uid: str = "uid-1", **spec: Any) -> Owner:
    return Owner(name, "ns", uid, LogClusterSpec.model_validate(spec))


def made(**spec: Any) -> dict[str, dict[str, Any]]:
    return {f"{one['kind']} {one['metadata']['name']}": one for one in objects_of(owner(**spec), Images())}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_objects_are_strictly_valid_and_owned(spec: dict[str, Any]) -> None:
    for one in made(**spec).values():
        kubernetes_validate.validate(one, "1.34", strict=True)
        metadata = one["metadata"]
        assert metadata["namespace"] == "ns"
        assert metadata["labels"][CLUSTER_LABEL] == "demo"
        (reference,) = metadata["ownerReferences"]
        assert (reference["uid"], reference["controller"]) == ("uid-1", True)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_every_pod_finds_a_file_that_a_node_accepts(spec: dict[str, Any], tmp_path: Path) -> None:
    objects = made(**spec)
    whose = owner(**spec)
    for role in roles_of(whose):
        if role == "zookeeper" or whose.spec.kafka is not None:
            continue
        files = objects[f"ConfigMap demo-{role}"]["data"]
        count = objects[f"StatefulSet demo-{role}"]["spec"]["replicas"]
        assert sorted(files) == sorted(f"demo-{role}-{n}.properties" for n in range(count))
        for index in range(count):
            path = tmp_path / "node.properties"
            path.write_text(files[f"demo-{role}-{index}.properties"])
            settings = read_settings(path)
            assert settings.role == role
            assert settings.node_id == index + (1000 if role == "controller" else 0)
            assert str(settings.log_dir) == data_path(whose)
            assert settings.incarnation > 1_700_000_000_000, "no two starts of a pod may look alike"
            kraft = whose.spec.mode == "kraft"
            assert len(settings.voters) == (whose.spec.controllers if kraft else 0)
            assert len(settings.zookeepers) == (0 if kraft else whose.spec.zookeepers)
            if role == "broker":
                assert settings.listeners[0].advertised == Endpoint(host_of(whose, role, index), 9092)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_pods_are_unprivileged(spec: dict[str, Any]) -> None:
    for role in roles_of(owner(**spec)):
        pod = made(**spec)[f"StatefulSet demo-{role}"]["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["readOnlyRootFilesystem"] is True
            assert security["capabilities"] == {"drop": ["ALL"]}


def test_data_lie_on_what_outlives_the_pod() -> None:
    """The root file system is read-only, so that a path off the volume would not even start."""
    for spec in SPECS.values():
        objects, whose = made(**spec), owner(**spec)
        for role in roles_of(whose):
            template = objects[f"StatefulSet demo-{role}"]["spec"]["template"]["spec"]
            (mount,) = [one for one in template["containers"][0]["volumeMounts"] if one["name"] == "data"]
            assert f"{data_path(whose)}/".startswith(f"{mount['mountPath']}/")
    crashable = made(storage={"crashable": True})["StatefulSet demo-broker"]["spec"]
    assert "volumeClaimTemplates" not in crashable
    (mount,) = [one for one in crashable["template"]["spec"]["containers"][0]["volumeMounts"] if one["name"] == "data"]
    assert mount["mountPath"] == places.VOLUME_PATH


def test_crashable_pods_see_nothing_of_the_node_and_clusters_are_other_users() -> None:
    """A folder of the node, whichever it is, would be that of all pods of the StatefulSet: so there is none. The agent
    attaches each pod's volume in its container (tests/kubernetes/agent/test_attachments.py)."""
    specs = []
    for uid in ("uid-1", "uid-2"):
        whose = owner(uid=uid, storage={"crashable": True})
        objects = {f"{one['kind']} {one['metadata']['name']}": one for one in objects_of(whose, Images())}
        specs.append(objects["StatefulSet demo-broker"]["spec"]["template"]["spec"])
    for spec in specs:
        assert [one for one in spec["volumes"] if "hostPath" in one] == []
        assert [one for one in spec["containers"][0]["volumeMounts"] if "mountPropagation" in one] == []
    users = [{spec["securityContext"][name] for name in ("runAsUser", "runAsGroup", "fsGroup")} for spec in specs]
    assert all(len(one) == 1 and min(one) >= 1_000_000 and max(one) < 1 << 31 for one in users)
    assert users[0] != users[1]
    # Data on claims belong to whom they belonged to.
    assert user_of(owner()) == 10001


def test_the_agent_is_told_what_volume_to_make() -> None:
    """By the agent's own reading of it."""
    from highwater_operator.agent.pods import Pod
    from highwater_operator.agent.wanted_volumes import wanted_by

    spec = made(storage={"crashable": True, "size": "64Mi"}, fileSystem="xfs")["StatefulSet demo-broker"]["spec"]
    template = spec["template"]
    metadata = {**template["metadata"], "namespace": "ns", "name": "demo-broker-2", "uid": "u"}
    spec = {**template["spec"], "nodeName": "node-0"}
    assert spec["schedulingGates"] == [{"name": "highwater.dev/volume"}]
    assert wanted_by(Pod.of({"metadata": metadata, "spec": spec})) is None, "before it is written down where"
    metadata["annotations"] = {**metadata["annotations"], "highwater.dev/volume-node": "node-0"}
    record = wanted_by(Pod.of({"metadata": metadata, "spec": spec}))
    assert record is not None
    assert (record.name, record.size_bytes, record.file_system) == ("ns_demo-broker-2", 64 * 1024 * 1024, "xfs")
    assert (record.user, record.group) == (user_of(owner(storage={"crashable": True})),) * 2
    assert (record.cluster, record.retain) == (owner().uid, False)
    args = template["spec"]["containers"][0]["args"]
    assert args[1:3] == ["--hold-files", "/run/highwater/hold-"]
    assert args[3:] == ["--wait-for", "/var/lib/highwater/volume/data"]


def test_the_agent_is_told_which_volumes_outlive_the_cluster() -> None:
    def annotations(**storage: str) -> dict[str, str]:
        spec = made(storage={"crashable": True, **storage})["StatefulSet demo-broker"]["spec"]
        found: dict[str, str] = spec["template"]["metadata"]["annotations"]
        return found

    name = "highwater.dev/volume-when-deleted"
    assert annotations(whenDeleted="Retain")[name] == "Retain"
    # Not said where it is the default: the template of clusters that there are stays as it is, and so do their pods.
    assert name not in annotations(whenDeleted="Delete")


def test_what_restarts_a_node_and_what_does_not() -> None:
    before = config_hash(owner(), "broker")
    assert config_hash(owner(brokers=5), "broker") == before
    assert config_hash(owner(brokers=1), "broker") == before
    assert config_hash(owner(topics=[{"name": "a"}]), "broker") == before
    assert config_hash(owner(config={"log.retention.ms": 5}), "broker") != before
    assert config_hash(owner(config={"default.replication.factor": 2}), "broker") != before
    assert config_hash(owner(switches={"pre-vote": "off"}), "controller") != config_hash(owner(), "controller")


def test_defaults_fit_the_number_of_brokers() -> None:
    text = made(brokers=1)["ConfigMap demo-broker"]["data"]["demo-broker-0.properties"]
    assert "offsets.topic.replication.factor=1\n" in text
    asked = made(brokers=1, config={"offsets.topic.replication.factor": 3})["ConfigMap demo-broker"]["data"]
    assert "offsets.topic.replication.factor=3\n" in asked["demo-broker-0.properties"]


def test_a_cluster_made_anew_is_another() -> None:
    assert len(cluster_id_of("uid-1")) == 22
    assert cluster_id_of("uid-1") != cluster_id_of("uid-2")


def test_pods_are_replaced_by_nobody_but_the_operator() -> None:
    for role in ROLES:
        mode = "zookeeper" if role == "zookeeper" else "kraft"
        spec = made(mode=mode)[f"StatefulSet demo-{role}"]["spec"]
        assert spec["updateStrategy"] == {"type": "OnDelete"}
        assert spec["podManagementPolicy"] == "Parallel", "the quorum's members need each other to become ready"


def test_every_port_says_its_protocol() -> None:
    """Server-side apply merges ports by number and protocol: without one, two appliers never meet."""

    def ports(value: Any) -> Any:
        if isinstance(value, dict):
            yield from value.get("ports", ()) if isinstance(value.get("ports"), list) else ()
            for inner in value.values():
                yield from ports(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from ports(inner)

    found = [port for one in made().values() for port in ports(one)]
    assert len(found) > 10
    assert all(port["protocol"] == "TCP" for port in found)


def test_a_budget_lets_pods_go_that_serve_nobody() -> None:
    """By default a pod that crashes again and again uses the budget up, and the drain of its node never ends."""
    for mode, roles in (("kraft", ("broker", "controller")), ("zookeeper", ("broker", "zookeeper"))):
        for role in roles:
            budget = made(mode=mode)[f"PodDisruptionBudget demo-{role}"]["spec"]
            assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
            assert budget["maxUnavailable"] == 1, "pods that serve go one at a time"


# --- ZooKeeper mode ---


def zoo_cfg(index: int = 0, **spec: Any) -> dict[str, str]:
    text = made(mode="zookeeper", **spec)["ConfigMap demo-zookeeper"]["data"][f"demo-zookeeper-{index}.cfg"]
    return dict(line.split("=", 1) for line in text.splitlines())


def test_zookeeper_mode_has_its_servers_and_no_controllers() -> None:
    names = set(made(mode="zookeeper", zookeepers=5))
    assert {one for one in names if "controller" in one} == set()
    for kind in ("ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "StatefulSet"):
        assert f"{kind} demo-zookeeper" in names
    assert "Service demo-zookeepers" in names
    assert {one for one in made() if "zookeeper" in one} == set()


def test_servers_and_brokers_find_the_same_ensemble() -> None:
    found = zoo_cfg(1, zookeepers=2)
    assert {name: value for name, value in found.items() if name.startswith("server.")} == {
        "server.1": "demo-zookeeper-0.demo-zookeepers.ns.svc:2888:3888",
        "server.2": "demo-zookeeper-1.demo-zookeepers.ns.svc:2888:3888",
    }
    assert found["dataDir"] == data_path(owner())
    broker = made(mode="zookeeper", zookeepers=2)["ConfigMap demo-broker"]["data"]["demo-broker-0.properties"]
    hosts = [f"demo-zookeeper-{n}.demo-zookeepers.ns.svc:2181" for n in range(2)]
    assert f"zookeeper.connect={','.join(hosts)}\n" in broker
    assert "controller.quorum.voters" not in broker


@pytest.mark.parametrize("session_ms", [1000, 2500, 18000])
def test_sessions_of_brokers_are_what_servers_allow(session_ms: int) -> None:
    found = zoo_cfg(config={"zookeeper.session.timeout.ms": session_ms})
    tick = int(found["tickTime"])
    assert 2 * tick <= session_ms <= 20 * tick
    assert int(found["syncLimit"]) * tick < session_ms, "a new leader is elected before sessions expire"
    assert int(found["initLimit"]) * tick >= 10_000, "a server that lacks much may take its time"


def test_a_server_that_may_trust_its_log_keeps_all_of_it() -> None:
    crashable, claims = zoo_cfg(storage={"crashable": True}), zoo_cfg()
    assert crashable["snapshot.trust.empty"] == "true"
    assert "autopurge.purgeInterval" not in crashable
    assert "snapshot.trust.empty" not in claims
    assert claims["autopurge.purgeInterval"] == "1"


def test_another_session_timeout_restarts_servers_and_brokers() -> None:
    before, after = (owner(mode="zookeeper", config={"zookeeper.session.timeout.ms": found}) for found in (6000, 9000))
    for role in roles_of(before):
        assert config_hash(before, role) != config_hash(after, role)
    other = owner(mode="zookeeper", config={"zookeeper.session.timeout.ms": 6000, "log.retention.ms": 5})
    assert config_hash(before, "zookeeper") == config_hash(other, "zookeeper"), "what only brokers read"


def test_the_program_of_a_zookeeper_pod_takes_its_arguments(tmp_path: Path) -> None:
    """By its own reading of them."""
    from highwater_operator.zookeeper.main import _arguments

    objects = made(mode="zookeeper", storage={"crashable": True})
    (container,) = objects["StatefulSet demo-zookeeper"]["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["highwater-zookeeper"]
    assert container["image"] == Images().zookeeper
    given = _arguments([one.replace("$(POD_NAME)", "demo-zookeeper-1") for one in container["args"]])
    assert given.config.name in objects["ConfigMap demo-zookeeper"]["data"]
    assert str(given.wait_for) == "/var/lib/highwater/volume/data"
    assert (given.pod, str(given.hold_files)) == ("demo-zookeeper-1", "/run/highwater/hold-")
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert given.admin.endswith(f":{ports['metrics']}")
    assert (ports["zookeeper"], ports["quorum"], ports["election"]) == (2181, 2888, 3888)


def test_the_program_of_an_apache_kafka_pod_takes_its_arguments() -> None:
    from highwater_operator.apache_kafka.main import _arguments, _node

    kafka = {"runtime": "apache-kafka", "version": "3.9.2", "metadataVersion": "3.7-IV4"}
    objects = made(**kafka, storage={"crashable": True}, config={"min.insync.replicas": 2})
    for role in ("broker", "controller"):
        (container,) = objects[f"StatefulSet demo-{role}"]["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["highwater-kafka"]
        assert container["image"] == "highwater/apache-kafka:0.2.0-kafka-3.9.2"
        assert container["resources"]["limits"] == {"memory": "640Mi"}
        given = _arguments([one.replace("$(POD_NAME)", f"demo-{role}-1") for one in container["args"]])
        assert _node(given.pod) == (f"{role}-1", role)
        assert (given.release, given.metadata_version) == ("3.9.2", "3.7-IV4")
        assert given.cluster_id == cluster_id_of(owner().uid)
        assert str(given.wait_for) == "/var/lib/highwater/volume/data"
        port = 9092 if role == "broker" else 9093
        assert (given.listen, given.control) == (f"0.0.0.0:{port}", f"{places.CONTROL_PATH}/control.sock")
        text = objects[f"ConfigMap demo-{role}"]["data"][given.config.name]
        at = host_of(owner(), role, 1)
        assert {
            f"process.roles={role}",
            "log.dirs=/var/lib/highwater/volume/data",
            "min.insync.replicas=2",
            f"listeners={'PLAINTEXT' if role == 'broker' else 'CONTROLLER'}://127.0.0.1:{port + 10_000}",
            f"advertised.listeners={'PLAINTEXT' if role == 'broker' else 'CONTROLLER'}://{at}:{port}",
        } <= set(text.splitlines())
        assert "highwater." not in text
    (mount,) = (
        one
        for one in made(**kafka)["StatefulSet demo-broker"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
        if one["name"] == "data"
    )
    assert mount["subPath"] == "data", "a file system's root has a lost+found"
    assert (
        made(**kafka, image="mine:1")["StatefulSet demo-broker"]["spec"]["template"]["spec"]["containers"][0]["image"]
        == "mine:1"
    )


def test_more_brokers_restart_no_node_of_apache_kafka() -> None:
    few, many = (owner(runtime="apache-kafka", version="3.4.1", brokers=count) for count in (1, 5))
    assert config_hash(few, "broker") == config_hash(many, "broker")
    other = owner(runtime="apache-kafka", version="3.4.1", config={"offsets.topic.replication.factor": 1})
    assert config_hash(few, "broker") != config_hash(other, "broker")


def test_strangers_do_not_reach_the_ensemble() -> None:
    rules = made(mode="zookeeper")["NetworkPolicy demo-zookeeper"]["spec"]["ingress"]
    open_to_all = [port["port"] for rule in rules if "from" not in rule for port in rule["ports"]]
    assert open_to_all == [9404]
    (limited,) = [rule for rule in rules if "from" in rule]
    assert [port["port"] for port in limited["ports"]] == [2181, 2888, 3888]


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
@pytest.mark.parametrize("system", ["highwater-system", "elsewhere"])
def test_labels_of_pods_in_other_namespaces_open_nothing(mode: str, system: str) -> None:
    """Whoever may create a pod somewhere chooses its labels."""
    found = [one for one in objects_of(owner(mode=mode), Images(), system=system) if one["kind"] == "NetworkPolicy"]
    sources = [source for one in found for rule in one["spec"]["ingress"] for source in rule.get("from", [])]
    assert len(sources) == 2
    for source in sources:
        assert source["podSelector"] not in ({}, None)
        if "namespaceSelector" in source:
            assert source["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": system}}
            allowed = {one["key"]: one["values"] for one in source["podSelector"]["matchExpressions"]}
            assert all(labels_of_job("uid", RUNNER)[key] in values for key, values in allowed.items())
        else:
            assert source["podSelector"]["matchLabels"][CLUSTER_LABEL] == "demo"


def test_each_image_is_the_resources_or_the_operators() -> None:
    def images(**spec: Any) -> set[str]:
        sets = [one for one in made(mode="zookeeper", **spec).values() if one["kind"] == "StatefulSet"]
        return {one["spec"]["template"]["spec"]["containers"][0]["image"] for one in sets}

    assert images() == {"highwater/node:0.2.0", "highwater/zookeeper:0.2.0"}
    assert images(image="a:1", zookeeperImage="b:1") == {"a:1", "b:1"}


@pytest.mark.parametrize(
    ("crashable", "environment", "placed"),
    [
        (True, {"SELECTOR": '{"faults": "allowed"}'}, {"nodeSelector": {"faults": "allowed"}}),
        (
            True,
            {"SELECTOR": '{"faults": "allowed"}', "TOLERATIONS": '[{"key": "faults", "operator": "Exists"}]'},
            {"nodeSelector": {"faults": "allowed"}, "tolerations": [{"key": "faults", "operator": "Exists"}]},
        ),
        # Agents are on every node and on more: there is no need to be where only they can be.
        (True, {"TOLERATIONS": '[{"key": "faults", "operator": "Exists"}]'}, {}),
        (True, {}, {}),
        (False, {"SELECTOR": '{"faults": "allowed"}'}, {}),
    ],
)
def test_pods_with_crashable_volumes_are_where_agents_are(
    crashable: bool, environment: dict[str, str], placed: dict[str, Any]
) -> None:
    named = {name: f"HIGHWATER_AGENT_{'NODE_' if name == 'SELECTOR' else ''}{name}" for name in environment}
    nodes = AgentNodes.from_environment({named[name]: value for name, value in environment.items()})
    whose = owner(storage={"crashable": crashable})
    for one in objects_of(whose, Images(), nodes):
        kubernetes_validate.validate(one, "1.34", strict=True)
        if one["kind"] == "StatefulSet":
            pod = one["spec"]["template"]["spec"]
            assert {name: pod[name] for name in ("nodeSelector", "tolerations") if name in pod} == placed


@pytest.mark.parametrize("value", ["{", "[]", "3"])
def test_where_agents_are_is_an_object(value: str) -> None:
    with pytest.raises(ValueError, match="HIGHWATER_AGENT_NODE_SELECTOR: expected"):
        AgentNodes.from_environment({"HIGHWATER_AGENT_NODE_SELECTOR": value})
