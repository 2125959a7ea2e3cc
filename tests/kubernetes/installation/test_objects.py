"""What is installed, however it is installed: valid to the letter, unprivileged but for the agent, with few rights."""

from __future__ import annotations

import importlib.util
import re
import tomllib

import kubernetes_validate
import pytest
import yaml

from highwater_operator.experiments.runner_job import RUNNER, labels_of

from .conftest import ROOT, pods

KUBERNETES = "1.34.0"
NOT_KUBERNETES_OWN = {"PodMonitor", "PrometheusRule"}
IMAGE = re.compile(r"highwater/(node|operator|agent|pipeline|zookeeper|apache-kafka):(\S+)")
VERSION = yaml.safe_load((ROOT / "helm/highwater/Chart.yaml").read_text())["appVersion"]
FORBIDDEN_RESOURCES = {"secrets", "nodes", "nodes/proxy", "pods/exec", "clusterroles", "roles", "rolebindings"}
BINDS = "rbac.authorization.k8s.io"


def test_every_object_is_valid_to_the_letter(packaged):
    seen = 0
    for (kind, _), obj in packaged.items():
        if kind not in NOT_KUBERNETES_OWN:
            kubernetes_validate.validate(obj, KUBERNETES, strict=True)
            seen += 1
    assert seen > 10


def test_validation_sees_a_wrong_field(packaged):
    deployment = packaged["Deployment", "highwater-operator"]
    deployment["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="readinesProbe"):
        kubernetes_validate.validate(deployment, KUBERNETES, strict=True)


def test_no_pod_but_the_agents_is_privileged(packaged):
    templates = pods(packaged)
    agent = templates.pop("DaemonSet/highwater-agent")["spec"]
    assert agent["containers"][0]["securityContext"]["privileged"] is True
    assert templates
    for name, template in templates.items():
        spec = template["spec"]
        for field in ("hostPID", "hostNetwork", "hostIPC"):
            assert not spec.get(field), (name, field)
        assert not [volume for volume in spec.get("volumes", []) if "hostPath" in volume], name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] == 10001, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name


def test_the_agents_port_is_for_highwater_s_own_pods(packaged):
    agent = pods(packaged)["DaemonSet/highwater-agent"]
    policy = packaged["NetworkPolicy", "highwater-agent"]["spec"]
    labels = agent["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["policyTypes"] == ["Ingress"]
    (rule,) = policy["ingress"]
    assert rule["ports"] == [{"port": "https", "protocol": "TCP"}]
    assert all(one["podSelector"] for one in rule["from"]), "an empty selector is everybody"
    expected = {one["key"]: one["values"] for one in rule["from"][0]["podSelector"]["matchExpressions"]}
    namespace = packaged["DaemonSet", "highwater-agent"]["metadata"]["namespace"]
    assert rule["from"][0]["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    assert packaged["Deployment", "highwater-operator"]["metadata"]["namespace"] == namespace
    callers = [labels_of("uid", RUNNER), pods(packaged)["Deployment/highwater-operator"]["metadata"]["labels"]]
    for caller in callers:
        assert all(caller[key] in values for key, values in expected.items()), caller


def test_the_agent_sees_no_more_of_the_node_than_it_needs(packaged):
    spec = pods(packaged)["DaemonSet/highwater-agent"]["spec"]
    assert not spec.get("hostNetwork")
    assert not spec.get("hostIPC")
    (container,), (guardian,) = spec["containers"], spec["initContainers"]
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume}
    assert set(paths.values()) == {"/var/lib/highwater", "/var/lib/kubelet", "/dev"}
    for one in (container, guardian):
        assert one["securityContext"]["readOnlyRootFilesystem"] is True
        mounts = {mount["name"]: mount for mount in one["volumeMounts"]}
        for name, path in paths.items():
            assert mounts[name]["mountPath"] == path, "the same path inside as outside"
        shared = {name for name, mount in mounts.items() if mount.get("mountPropagation") == "Bidirectional"}
        assert shared == {"highwater"}


def test_faults_are_guarded_while_the_agents_container_is_not_there(packaged):
    """By a sidecar with the agent's view of the machine, and none of its secrets."""
    spec = pods(packaged)["DaemonSet/highwater-agent"]["spec"]
    (agent,), (guardian,) = spec["containers"], spec["initContainers"]
    assert guardian["restartPolicy"] == "Always"
    assert importlib.util.find_spec(guardian["args"][-1])
    for part in ("image", "imagePullPolicy", "securityContext"):
        assert guardian[part] == agent[part]
    secrets = [one for one in agent["volumeMounts"] if one not in guardian["volumeMounts"]]
    assert {one["name"] for one in secrets} == {"token", "tls"}
    assert [one for one in agent["volumeMounts"] if one not in secrets] == guardian["volumeMounts"]
    assert guardian["resources"]["limits"]["memory"]
    assert {one["name"] for one in agent["env"]}.isdisjoint({"HIGHWATER_AGENT_STATE"}), "then the guardian needs it too"


def test_every_container_has_bounds_and_is_looked_after(packaged):
    for name, template in pods(packaged).items():
        for container in template["spec"]["containers"]:
            assert container["resources"]["limits"]["memory"], name
            assert container["resources"]["requests"]["cpu"], name
            if not name.startswith("Job/"):
                assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container), name
                ports = {port["name"] for port in container["ports"]}
                assert container["livenessProbe"]["httpGet"]["port"] in ports


def test_one_operator_at_a_time(packaged):
    spec = packaged["Deployment", "highwater-operator"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_rights_have_no_wildcard_and_reach_no_secret(packaged):
    roles = {key: obj for key, obj in packaged.items() if key[0] in {"Role", "ClusterRole"}}
    assert roles
    for (kind, name), role in roles.items():
        for rule in role["rules"]:
            assert "nonResourceURLs" not in rule
            words = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert not [word for word in words if "*" in word], name
            assert not set(rule["verbs"]) & {"deletecollection", "impersonate", "escalate"}, name
            if rule["apiGroups"] == [BINDS]:
                # The operator binds the Jobs of an experiment, to roles of ours and no others.
                assert name == "highwater-operator", name
                if rule["resources"] == ["rolebindings"]:
                    where = {"delete"} if kind == "Role" else set()  # bindings elsewhere go with their owners
                    assert set(rule["verbs"]) == {"create", "patch", *where}
                else:
                    assert rule["verbs"] == ["bind"]
                    assert rule["resourceNames"]
                    assert set(rule["resourceNames"]) <= {
                        "highwater-runner",
                        "highwater-judge",
                        "highwater-runner-agents",
                    }
                continue
            assert "bind" not in rule["verbs"], name
            reached = set(rule["resources"]) & FORBIDDEN_RESOURCES
            if (kind, name) == ("Role", "highwater-operator") and reached == {"secrets"}:
                # The agents' certificate: by name, but that RBAC cannot bind `create` to one.
                assert role["metadata"]["namespace"] == "highwater-system"
                wanted = ["highwater-agent-ca", "highwater-agent-tls"]
                assert rule["verbs"] == ["create"] or (rule["resourceNames"], rule["verbs"]) == (
                    wanted,
                    ["get", "patch"],
                )
            elif (kind, name) == ("Role", "highwater-agent-token"):
                # The Job that makes the token: it can make one in its own namespace, and read none.
                assert rule == {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}
                assert role["metadata"]["namespace"] == "highwater-system"
            elif (kind, name, reached) == ("ClusterRole", "highwater-agent", {"nodes"}):
                # It cordons its node when that is drained, and lists all before it resets a machine.
                assert rule == {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]}
            else:
                assert not reached, name


def test_bindings_lead_from_our_accounts_to_our_roles(packaged):
    for (kind, name), binding in packaged.items():
        if not kind.endswith("RoleBinding"):
            continue
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in packaged, name
        for subject in binding["subjects"]:
            assert (subject["kind"], subject["name"]) in packaged, name
            assert subject["namespace"] == "highwater-system", name


def test_every_account_and_secret_that_a_pod_names_is_there(packaged):
    # By the chart, or by the base's Job, as tested with the Job's program; by the operator (test_certificates).
    made = {("Secret", "highwater-agent-token"), ("Secret", "highwater-agent-tls")}
    for name, template in pods(packaged).items():
        spec = template["spec"]
        assert ("ServiceAccount", spec["serviceAccountName"]) in packaged, name
        for volume in spec.get("volumes", []):
            if "secret" in volume:
                assert ("Secret", volume["secret"]["secretName"]) in made, name


def test_selectors_find_their_pods_and_no_others(packaged):
    templates = pods(packaged)
    for (kind, name), obj in packaged.items():
        selector = obj["spec"].get("selector") if kind in {"Service", "PodMonitor", "Deployment", "DaemonSet"} else None
        if selector is None:
            continue
        wanted = selector if kind == "Service" else selector.get("matchLabels")
        if wanted is None:
            continue
        found = [
            owner for owner, template in templates.items() if wanted.items() <= template["metadata"]["labels"].items()
        ]
        assert len(found) == 1, (kind, name, found)
        assert found[0].endswith(f"/{name}")
        ports = {port["name"] for port in templates[found[0]]["spec"]["containers"][0].get("ports", [])}
        for port in obj["spec"].get("ports", []) if kind == "Service" else []:
            assert port["targetPort"] in ports
        for endpoint in obj["spec"].get("podMetricsEndpoints", []):
            assert endpoint["port"] in ports


def test_every_image_is_one_of_ours(packaged):
    named = []
    for template in pods(packaged).values():
        for container in template["spec"]["containers"]:
            named.append(container["image"])
            named += [one["value"] for one in container.get("env", []) if one["name"].endswith("_IMAGE")]
            assert container["imagePullPolicy"] == "IfNotPresent"
    matches = [IMAGE.fullmatch(image) for image in named]
    assert None not in matches, named
    assert {match[2] for match in matches if match} == {VERSION}
    for match in matches:
        assert match
        assert (ROOT / "images" / f"{match[1]}.Containerfile").is_file()


def test_versions_agree():
    chart = yaml.safe_load((ROOT / "helm/highwater/Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    is_next = project["tool"]["hatch"]["version"]["fallback-version"] == f"{VERSION}.dev0"
    is_last = f"## {VERSION}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert is_next or is_last, "images are tagged by the last release, or by the one that is prepared"


def test_entry_points_exist(packaged):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, template in pods(packaged).items():
        for container in template["spec"]["containers"]:
            command = (container.get("command") or container["args"])[0]
            assert command == "python3" or command in project["scripts"], (name, command)
    for image in ("node", "operator", "agent", "pipeline"):
        text = (ROOT / "images" / f"{image}.Containerfile").read_text()
        (command,) = re.findall(r'^CMD \["([^"]+)"', text, flags=re.M)
        assert command in project["scripts"], image
        for extra in re.findall(r"'\.\[(\S+)\]'", text):
            assert set(extra.split(",")) <= set(project["optional-dependencies"]), image
