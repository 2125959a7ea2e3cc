"""The Helm chart: renders with the real engine, refuses wrong values, and is the same as the kustomize base."""

from __future__ import annotations

import base64
import json
from typing import Any

import kubernetes_validate
import pytest
import yaml

from highwater_operator.experiments.context import JudgingSettings, RunnerSettings

from .conftest import BASE, CHART, EVERYTHING, JUDGING, MONITORING, STORAGE_CLASS, placed_by, resources

CHART_LABELS = ("app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart")
# Helm makes no namespace of its own, keeps CRDs apart from templates, and makes the token itself instead of by a Job.
BASE_ONLY = {
    ("Namespace", "highwater-system"),
    ("CustomResourceDefinition", "logclusters.highwater.dev"),
    ("CustomResourceDefinition", "chaosexperiments.highwater.dev"),
    ("ServiceAccount", "highwater-agent-token"),
    ("Role", "highwater-agent-token"),
    ("RoleBinding", "highwater-agent-token"),
    ("Job", "highwater-agent-token"),
}
CHART_ONLY = {("Secret", "highwater-agent-token"), ("Pod", "highwater-test")}


def without_chart_labels(value: Any) -> Any:
    match value:
        case dict():
            return {key: without_chart_labels(item) for key, item in value.items() if key not in CHART_LABELS}
        case list():
            return [without_chart_labels(item) for item in value]
        case _:
            return value


def test_lint_finds_nothing(helm):
    for values in ({}, EVERYTHING, {"agent": {"storageClass": {"enabled": True}}}):
        report = helm.chart.lint(CHART, values, strict=True)
        assert report["errors"] == []
        assert [message for message in report["messages"] if message["severity"] > 1] == []


def test_the_chart_and_the_base_are_the_same_objects(render, base):
    chart = render()
    assert set(base) - set(chart) == BASE_ONLY
    assert set(chart) - set(base) == CHART_ONLY
    for key in set(chart) & set(base):
        assert without_chart_labels(chart[key]) == base[key], key


def test_monitoring_is_the_same_as_the_component(render, chart):
    component = {(obj["kind"], obj["metadata"]["name"]): obj for obj in resources(MONITORING)}
    assert len(component) == 4
    for key, obj in component.items():
        assert without_chart_labels(chart[key]) == obj, key
    kustomization = yaml.safe_load((MONITORING / "kustomization.yaml").read_text())
    (generator,) = kustomization["configMapGenerator"]
    dashboards = chart["ConfigMap", generator["name"]]
    assert dashboards["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert dashboards["data"] == {name: (MONITORING / name).read_text() for name in generator["files"]}
    assert set(generator["options"]["labels"]) == set(without_chart_labels(dashboards["metadata"]["labels"]))


def test_judging_is_the_same_as_the_component(render):
    plain, judging = render(), render({"judging": {"job": {"enabled": True}}})
    component = {(obj["kind"], obj["metadata"]["name"]): obj for obj in resources(JUDGING)}
    assert set(judging) - set(plain) == set(component)
    for key, obj in component.items():
        assert without_chart_labels(judging[key]) == obj, key
    (patch,) = yaml.safe_load((JUDGING / "kustomization.yaml").read_text())["patches"]
    key = ("Deployment", "highwater-operator")
    assert key == (patch["target"]["kind"], patch["target"]["name"])
    (wanted,) = yaml.safe_load(patch["patch"])["spec"]["template"]["spec"]["containers"]
    (before,), (after,) = (one[key]["spec"]["template"]["spec"]["containers"] for one in (plain, judging))
    assert [one for one in after["env"] if one not in before["env"]] == wanted["env"]
    assert {**after, "env": before["env"]} == before
    for other in set(plain) - {key, *CHART_ONLY}:  # the token is another each time
        assert judging[other] == plain[other], other


def test_the_storage_class_is_the_same_as_the_component(render):
    plain, storing = render(), render({"agent": {"storageClass": {"enabled": True}}})
    component = {(obj["kind"], obj["metadata"]["name"]): obj for obj in resources(STORAGE_CLASS)}
    assert set(storing) - set(plain) == set(component)
    for key, obj in component.items():
        assert without_chart_labels(storing[key]) == obj, key
    (patch,) = yaml.safe_load((STORAGE_CLASS / "kustomization.yaml").read_text())["patches"]
    key = ("DaemonSet", "highwater-agent")
    assert key == (patch["target"]["kind"], patch["target"]["name"])
    wanted = yaml.safe_load(patch["patch"])["spec"]["template"]["spec"]
    pods = [one[key]["spec"]["template"]["spec"] for one in (plain, storing)]
    for containers, part in (("containers", "env"), ("containers", "volumeMounts"), ("initContainers", "volumeMounts")):
        before, after = (one[containers][0][part] for one in pods)
        assert [one for one in after if one not in before] == wanted[containers][0][part]
        assert len(after) - len(before) == (part == "env")
    for other in set(plain) - {key, *CHART_ONLY}:
        assert storing[other] == plain[other], other
    for key in component:
        kubernetes_validate.validate(storing[key], "1.34.0", strict=True)
    # The provisioner's rights are its own: the privileged agents may not make and delete PersistentVolumes.
    pods = [storing["DaemonSet", f"highwater-{one}"]["spec"]["template"]["spec"] for one in ("agent", "csi")]
    assert [one["serviceAccountName"] for one in pods] == ["highwater-agent", "highwater-csi"]
    for container in pods[1]["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
    rights = [rule for kind in ("Role", "ClusterRole") for rule in storing[kind, "highwater-csi"]["rules"]]
    assert {"secrets", "*"}.isdisjoint(word for rule in rights for word in (*rule["resources"], *rule["verbs"]))
    placed = {"nodeSelector": {"faults": "allowed"}, "tolerations": [{"key": "faults", "operator": "Exists"}]}
    objects = render({"agent": {**placed, "storageClass": {"enabled": True}, "kubeletDirectory": "/data/kubelet"}})
    spec = objects["DaemonSet", "highwater-csi"]["spec"]["template"]["spec"]
    assert {name: spec[name] for name in placed} == placed, "beside every agent"
    paths = [one["hostPath"]["path"] for one in spec["volumes"]]
    assert paths == ["/data/kubelet/plugins/csi.highwater.dev", "/data/kubelet/plugins_registry"]
    (agent,) = objects["DaemonSet", "highwater-agent"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "HIGHWATER_AGENT_CSI_SOCKET", "value": f"{paths[0]}/csi.sock"} in agent["env"]


def test_secrets_are_given_in_the_namespaces_that_are_named_and_nowhere_else(render):
    assert not [name for kind, name in render({}, name="mine") if name.endswith("-secrets")]
    objects = render({"operator": {"secretsNamespaces": ["one"]}}, name="mine")
    role, binding = objects["Role", "mine-highwater-secrets"], objects["RoleBinding", "mine-highwater-secrets"]
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "patch"]}]
    assert [one["metadata"]["namespace"] for one in (role, binding)] == ["one", "one"]
    assert [one["name"] for one in binding["subjects"]] == ["mine-highwater-operator"]


def test_judging_takes_what_it_is_given(render):
    resources = {"requests": {"memory": "2Gi"}, "limits": {"memory": "4Gi"}}
    values = {"judging": {"job": {"enabled": True, "resources": resources}}, "image": {"registry": "example.com"}}
    values["recordings"] = {"claim": "big"}
    objects = render({**values, "operator": {"watchNamespaces": ["one", "two"]}}, name="mine")
    (container,) = objects["Deployment", "mine-highwater-operator"]["spec"]["template"]["spec"]["containers"]
    environment = {one["name"]: one.get("value") for one in container["env"]}
    settings = JudgingSettings.from_environment({name: value for name, value in environment.items() if value})
    assert (settings.job, settings.image) == (True, "example.com/highwater/pipeline:0.2.0")
    assert settings.resources["requests"]["memory"] == "2Gi"
    assert settings.resources["limits"] == {"memory": "4Gi"}
    assert ("ServiceAccount", settings.service_account) in objects
    assert ("Role", "mine-highwater-judge") in objects
    environment = {"HIGHWATER_RECORDINGS_CLAIM": environment.get("HIGHWATER_RECORDINGS_CLAIM") or ""}
    assert RunnerSettings.from_environment(environment).recordings_claim == "big"
    assert ("ClusterRole", "mine-highwater-judge") not in objects


def test_crds_are_those_of_the_base():
    names = {path.name for path in (CHART / "crds").iterdir()}
    assert names == {path.name for path in (BASE / "crds").iterdir()}
    for name in names:
        assert (CHART / "crds" / name).read_text() == (BASE / "crds" / name).read_text()


def test_every_switch_switches(render):
    plain = set(render())
    for switch, kinds in (
        ("podMonitor", {"PodMonitor"}),
        ("prometheusRule", {"PrometheusRule"}),
        ("dashboards", {"ConfigMap"}),
    ):
        assert {kind for kind, _ in set(render({switch: {"enabled": True}})) - plain} == kinds
    gone = plain - set(render({"agent": {"enabled": False}}))
    assert {name for _, name in gone} == {"highwater-agent", "highwater-agent-token", "highwater-runner-agents"}


def test_without_agents_nothing_speaks_of_them(render):
    for key, obj in render({"agent": {"enabled": False}} | {"podMonitor": {"enabled": True}}).items():
        text = json.dumps(obj)
        assert "agent" not in text.replace("User-Agent", ""), key


def test_the_token_is_random_and_an_existing_one_is_taken(render):
    tokens = {render()["Secret", "highwater-agent-token"]["data"]["token"] for _ in range(2)}
    assert len(tokens) == 2
    assert all(len(base64.b64decode(token)) == 64 for token in tokens)
    objects = render({"agent": {"token": {"existingSecret": "mine"}}})
    assert not [key for key in objects if key[0] == "Secret"]
    for key in (("Deployment", "highwater-operator"), ("DaemonSet", "highwater-agent")):
        volumes = objects[key]["spec"]["template"]["spec"]["volumes"]
        named = [volume["secret"]["secretName"] for volume in volumes if volume["name"] == "token"]
        assert named == ["mine"]


def test_an_upgrade_keeps_the_token():
    template = (CHART / "templates" / "agent-token.yaml").read_text()
    # `lookup` answers nothing without a cluster: that it is asked for the very Secret, and taken first, is all to see.
    assert 'lookup "v1" "Secret" .Release.Namespace $name' in template
    assert 'dig "data" "token" (randAlphaNum 64 | b64enc) (default dict $there)' in template


def test_some_namespaces_only(render):
    objects = render({"operator": {"watchNamespaces": ["a", "b"]}, "podMonitor": {"enabled": True}})
    assert ("ClusterRole", "highwater-operator") not in objects
    (container,) = objects["Deployment", "highwater-operator"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["highwater-operator", "--namespace=a", "--namespace=b"]
    assert (
        objects["Role", "highwater-operator-serves"]["rules"][:-1]
        == render()["ClusterRole", "highwater-operator"]["rules"][:-1]
    )
    for made, plural in ((objects, "roles"), (render(), "clusterroles")):
        kind = plural[:-1]
        (environment,) = (
            {one["name"]: one.get("value") for one in container["env"]}
            for container in made["Deployment", "highwater-operator"]["spec"]["template"]["spec"]["containers"]
        )
        settings = RunnerSettings.from_environment({name: value for name, value in environment.items() if value})
        assert settings.role_kind.lower() == kind
        assert (settings.role_kind, settings.service_account) in made
        assert ("Role", f"{settings.service_account}-agents") in made
        assert not [key for key in made if key[0].endswith("RoleBinding") and "runner" in key[1]]
        rights = made["Role" if kind == "role" else "ClusterRole", f"highwater-operator{'-serves' * (kind == 'role')}"]
        assert rights["rules"][-1]["resources"] == [plural]
        assert rights["rules"][-1]["resourceNames"] == ["highwater-runner", "highwater-judge"]
    assert objects["PodMonitor", "highwater-nodes"]["spec"]["namespaceSelector"] == {"matchNames": ["a", "b"]}


def test_pods_that_are_to_be_hurt_go_where_agents_are(render):
    placed = {"nodeSelector": {"faults": "allowed"}, "tolerations": [{"key": "faults", "operator": "Exists"}]}
    objects = render({"agent": placed})
    agent = objects["DaemonSet", "highwater-agent"]["spec"]["template"]["spec"]
    assert {name: agent[name] for name in placed} == placed_by(objects) == placed
    assert placed_by(render()) == {}


def test_a_name_that_looks_like_a_number_is_text(render):
    """Kubernetes takes such names; YAML without quotes makes something else of them."""
    values = {"recordings": {"claim": "null"}, "podMonitor": {"enabled": True}, "judging": {"job": {"enabled": True}}}
    values |= {"image": {"pullSecrets": ["7"]}, "operator": {"watchNamespaces": ["42"]}}
    values |= {"agent": {"token": {"existingSecret": "123"}, "tls": {"existingSecret": "true", "serverName": "8"}}}
    objects = render(values, name="5")

    def names(value: Any, key: str = "") -> Any:
        match value:
            case dict():
                for inner, item in value.items():
                    yield from names(item, "labels" if key == "labels" else inner)
            case list():
                for item in value:
                    yield from names(item, key)
            case _ if key in ("name", "namespace", "secretName", "serverName", "value", "labels", "resourceNames"):
                yield value

    found = [name for obj in objects.values() for name in names(obj)]
    assert {"42", "123", "true", "7", "8", "5", "null"} <= {*found}
    assert [name for name in found if not isinstance(name, str)] == []


def test_a_registry_and_a_tag_are_put_to_every_image(render):
    objects = render({"image": {"registry": "example.com:5000/team", "tag": "9", "pullSecrets": ["s"]}})
    operator = objects["Deployment", "highwater-operator"]["spec"]["template"]["spec"]
    agent = objects["DaemonSet", "highwater-agent"]["spec"]["template"]["spec"]
    assert agent["containers"][0]["image"] == "example.com:5000/team/highwater/agent:9"
    assert operator["containers"][0]["image"] == "example.com:5000/team/highwater/operator:9"
    values = {one["name"]: one.get("value") for one in operator["containers"][0]["env"]}
    assert values["HIGHWATER_NODE_IMAGE"] == "example.com:5000/team/highwater/node:9"
    assert values["HIGHWATER_ZOOKEEPER_IMAGE"] == "example.com:5000/team/highwater/zookeeper:9"
    assert values["HIGHWATER_RUNNER_IMAGE"] == "example.com:5000/team/highwater/operator:9"
    assert objects["ServiceAccount", "highwater-runner"]["imagePullSecrets"] == [{"name": "s"}]
    assert operator["imagePullSecrets"] == agent["imagePullSecrets"] == [{"name": "s"}]


def test_another_release_shares_no_name(render):
    other = {name for kind, name in render(EVERYTHING, name="second")}
    assert other
    assert all(name.startswith("second-highwater") for name in other)


def test_notes_name_what_was_installed(helm):
    with helm.chart.Chart.load(CHART) as chart:
        notes = chart.render({}, name="highwater", namespace="there")["highwater/templates/NOTES.txt"]
    for said in ("namespace there", "deployment/highwater-operator", "daemonset/highwater-agent", "every namespace"):
        assert said in notes
    shown = yaml.safe_load(notes[notes.index("    apiVersion:") :].split("    EOF")[0])
    assert shown["kind"] == "LogCluster"


@pytest.mark.parametrize(
    ("values", "path", "said"),
    [
        ({"imagee": {}}, "", "additional properties 'imagee' not allowed"),
        ({"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy", "value must be one of 'Always', 'IfNotPresent'"),
        ({"image": {"registry": "https://x"}}, "/image/registry", "does not match pattern"),
        ({"image": {"tag": "a b"}}, "/image/tag", "does not match pattern"),
        ({"image": {"tag": 1}}, "/image/tag", "got number, want string"),
        ({"agent": {"enabled": "yes"}}, "/agent/enabled", "got string, want boolean"),
        ({"agent": {"privileged": False}}, "/agent", "additional properties 'privileged' not allowed"),
        ({"agent": {"kubeletDirectory": "relative"}}, "/agent/kubeletDirectory", "does not match pattern"),
        ({"agent": {"token": {"existingSecret": "Upper"}}}, "/agent/token/existingSecret", "does not match pattern"),
        ({"operator": {"replicas": 2}}, "/operator", "additional properties 'replicas' not allowed"),
        ({"operator": {"watchNamespaces": "a"}}, "/operator/watchNamespaces", "got string, want array"),
        ({"operator": {"watchNamespaces": ["a", "a"]}}, "/operator/watchNamespaces", "equal"),
        ({"operator": {"resources": {"limits": {"memory": "lots"}}}}, "/operator/resources/limits/memory", "pattern"),
        ({"operator": {"tolerations": [{"effect": "No"}]}}, "/operator/tolerations/0/effect", "must be one of"),
        ({"judging": {"job": {"enabled": "on"}}}, "/judging/job/enabled", "got string, want boolean"),
        ({"judging": {"enabled": True}}, "/judging", "additional properties 'enabled' not allowed"),
        (
            {"judging": {"job": {"resources": {"limits": {"memory": 1}}}}},
            "/judging/job/resources/limits/memory",
            "want string",
        ),
        ({"podMonitor": {"interval": "1m"}}, "/podMonitor/interval", "does not match pattern"),
        ({"prometheusRule": {"labels": {"a": 1}}}, "/prometheusRule/labels/a", "got number, want string"),
        ({"dashboards": {"enabled": None}}, "/dashboards", "missing property 'enabled'"),
    ],
)
def test_wrong_values_are_refused_readably(helm, render, values, path, said):
    with pytest.raises(helm.errors.HelmValuesError) as refused:
        render(values)
    assert f"at '{path}'" in str(refused.value)
    assert said in str(refused.value)


def test_the_schema_knows_every_value(helm):
    with helm.chart.Chart.load(CHART) as chart:
        schema, values = chart.schema, chart.values
    schema = json.loads(schema) if isinstance(schema, str) else schema

    def known(properties: dict[str, Any], value: dict[str, Any], path: str) -> None:
        for key, item in value.items():
            assert key in properties, f"{path}.{key}"
            if isinstance(item, dict) and "properties" in properties[key]:
                known(properties[key]["properties"], item, f"{path}.{key}")

    known(schema["properties"], values, "values")
    assert set(schema["properties"]) - {"global"} == set(values)


def test_helm_test_asks_this_operator_with_its_own_rights_and_image(render):
    values = {"operator": {"watchNamespaces": ["one", "two"]}, "image": {"registry": "example.com"}}
    objects = render(values, name="mine")
    pod = objects["Pod", "mine-highwater-test"]
    annotations = pod["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "test"
    assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation", "helm test --logs reads it afterwards"
    deployment = objects["Deployment", "mine-highwater-operator"]
    (operator,) = deployment["spec"]["template"]["spec"]["containers"]
    (container,) = pod["spec"]["containers"]
    assert (container["image"], container["args"][:-1]) == (operator["image"], operator["args"])
    assert pod["spec"]["serviceAccountName"] == deployment["spec"]["template"]["spec"]["serviceAccountName"]
    assert container["securityContext"] == operator["securityContext"]
    service = objects["Service", "mine-highwater-operator"]
    (port,) = service["spec"]["ports"]
    where = f"http://{service['metadata']['name']}.{service['metadata']['namespace']}.svc:{port['port']}/metrics"
    assert container["args"][-1] == f"--check={where}"
    assert not service["spec"]["selector"].items() <= pod["metadata"]["labels"].items(), "it is not the operator"
