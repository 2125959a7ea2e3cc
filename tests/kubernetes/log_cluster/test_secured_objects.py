"""What a LogCluster with ``spec.security`` consists of, and what is refused."""

from __future__ import annotations

import json
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from highwater_operator.certificates.cluster import Request, first_of
from highwater_operator.objects.all import objects_of
from highwater_operator.objects.config_map import config_hash
from highwater_operator.objects.images import Images
from highwater_operator.objects.naming import Owner, pod_name, replicas_of, roles_of
from highwater_operator.objects.security import dns_names
from highwater_operator.reconcile.problems import Problem, problem_of, read_spec
from highwater_operator.resources import LogClusterSpec
from highwater_runtime.host.config.file import read_settings
from highwater_runtime.host.security.assembly import node_security
from highwater_runtime.host.security.client_config import read_client_config

NOW = datetime.now(UTC)
OURS: dict[str, Any] = {"security": {}}
KAFKA: dict[str, Any] = {"security": {}, "runtime": "apache-kafka", "version": "3.5.2"}
PLAIN: dict[str, Any] = {"security": {"mechanism": "PLAIN"}, "runtime": "apache-kafka", "version": "3.4.1"}
ALL = {"ours": OURS, "ours-plain": {"security": {"mechanism": "PLAIN"}}, "kafka": KAFKA, "kafka-plain": PLAIN}


def secured(**spec: Any) -> Owner:
    owner = Owner("demo", "ns", "uid-1", LogClusterSpec.model_validate(spec))
    names = {
        pod_name(owner, role, index): dns_names(owner, role, index)
        for role in roles_of(owner)
        for index in range(replicas_of(owner, role))
    }
    return owner._replace(identity=first_of("demo", names, Request(), NOW).identity())


def made(owner: Owner) -> dict[str, dict[str, Any]]:
    return {f"{one['kind']} {one['metadata']['name']}": one for one in objects_of(owner, Images())}


def files(secret: dict[str, Any]) -> dict[str, bytes]:
    return {name: b64decode(content) for name, content in secret["data"].items()}


def lay_out(owner: Owner, role: str, folder: Path) -> Path:
    """The files of a role's pods, where they find each other; returns the properties of the first pod."""
    for name, content in files(made(owner)[f"Secret demo-{role}"]).items():
        text = content.replace(b"/etc/highwater/", f"{folder}/".encode())
        (folder / name).write_bytes(text)
    return folder / f"demo-{role}-0.properties"


@pytest.mark.parametrize("spec", ALL.values(), ids=ALL)
def test_what_is_secret_is_in_owned_secrets_and_nowhere_else(spec: dict[str, Any]) -> None:
    owner = secured(**spec)
    assert owner.identity is not None
    objects = made(owner)
    for one in objects.values():
        kubernetes_validate.validate(one, "1.34", strict=True)
        assert [reference["uid"] for reference in one["metadata"]["ownerReferences"]] == ["uid-1"]
    secrets = {name for name in objects if name.startswith("Secret ")}
    assert secrets == {f"Secret demo-{name}" for name in ("broker", "controller", "client", "harness")}
    others = json.dumps([one for name, one in objects.items() if name not in secrets])
    assert owner.identity.password not in others
    assert "PRIVATE KEY" not in others
    assert "ConfigMap demo-broker" not in objects


@pytest.mark.parametrize("role", ["broker", "controller"])
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"])
def test_a_node_of_ours_takes_its_files(role: str, mechanism: str, tmp_path: Path) -> None:
    settings = read_settings(lay_out(secured(security={"mechanism": mechanism}), role, tmp_path))
    found = {one.name: one.protocol for one in settings.listeners}
    brokers = {"CLIENTS": "SASL_SSL", "INTERNAL": "SSL"}
    assert found == (brokers if role == "broker" else {"CONTROLLER": "SSL"})
    assert settings.controller_protocol == "SSL"
    node_security(settings)  # reads keys and certificates, and raises


@pytest.mark.parametrize("spec", ALL.values(), ids=ALL)
def test_clients_and_harness_read_their_files_unchanged(spec: dict[str, Any], tmp_path: Path) -> None:
    owner = secured(**spec)
    objects = made(owner)
    for secret, name, protocol in (
        ("client", "client.properties", "SASL_SSL"),
        ("harness", "client.properties", "SASL_SSL"),
        ("harness", "controllers.properties", "SSL"),
    ):
        path = tmp_path / f"{secret}-{name}"
        path.write_bytes(files(objects[f"Secret demo-{secret}"])[name])
        config = read_client_config(path)
        assert config.protocol == protocol
        assert config.outbound.ssl_context is not None
        if name == "client.properties":
            assert [str(one) for one in config.bootstrap] == ["demo-bootstrap.ns.svc:9092"]


def test_pods_are_restarted_for_another_identity_and_not_for_one_more_broker() -> None:
    owner = secured(**OURS)
    more = secured(**OURS, brokers=5)
    for role in roles_of(owner):
        assert config_hash(owner, role) == config_hash(more, role)
        pod = made(owner)[f"StatefulSet demo-{role}"]["spec"]["template"]
        assert pod["metadata"]["annotations"]["highwater.dev/identity"] == "1"
        (config,) = [one for one in pod["spec"]["volumes"] if one["name"] == "config"]
        assert config["secret"] == {"secretName": f"demo-{role}", "defaultMode": 0o440}


def test_apache_kafka_meets_its_peers_itself_and_not_by_a_proxy() -> None:
    (container,) = made(secured(**KAFKA))["StatefulSet demo-broker"]["spec"]["template"]["spec"]["containers"]
    assert "--listen" not in container["args"]
    assert container["args"][container["args"].index("--credentials") + 1] == "/etc/highwater/credentials"
    found = files(made(secured(**KAFKA))["Secret demo-broker"])
    assert found["credentials"].startswith(b"SCRAM-SHA-512=[name=client,password=")
    assert b"password=" not in found["demo-broker-0.properties"]
    assert "credentials" not in made(secured(**PLAIN))["Secret demo-broker"]["data"]


def ingress(owner: Owner, role: str) -> dict[int, Any]:
    rules = made(owner)[f"NetworkPolicy demo-{role}"]["spec"]["ingress"]
    return {port["port"]: rule.get("from") for rule in rules for port in rule["ports"]}


def test_who_reaches_which_listener() -> None:
    own = {"podSelector": {"matchLabels": {"highwater.dev/cluster": "demo"}}}
    found = ingress(secured(**OURS), "broker")
    assert found[9091] == [own]
    assert found[9092][0] == own
    assert found[9092][1]["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "highwater-system"}}
    assert found[9092][2:] == [{"podSelector": {}}]
    assert found[9404] is None, "metrics"
    assert found.keys() == {9091, 9092, 9404}
    assert ingress(secured(**OURS), "controller")[9093] == found[9092][:2]
    peer = {"namespaceSelector": {"matchLabels": {"team": "a"}}, "podSelector": {"matchLabels": {"app": "b"}}}
    named = secured(security={"networkPolicyPeers": [peer, {"ipBlock": {"cidr": "10.0.0.0/8"}}]})
    assert ingress(named, "broker")[9092][2:] == [peer, {"ipBlock": {"cidr": "10.0.0.0/8"}}]
    nobody = secured(security={"networkPolicyPeers": []})
    assert ingress(nobody, "broker")[9092] == found[9092][:2]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "ZooKeeper": ({"security": {}, "mode": "zookeeper"}, r"spec\.security: mode zookeeper has no TLS"),
    "old release": ({**PLAIN, "security": {}}, "needs Apache Kafka 3.5.0 or later .*found 3.4.1.* mechanism: PLAIN"),
    "old metadata": ({**OURS, "metadataVersion": "3.4"}, "needs metadataVersion 3.5-IV2 or later, found 3.4-IV0"),
    "old metadata, Kafka": ({**KAFKA, "metadataVersion": "3.4-IV0"}, "needs metadataVersion 3.5-IV2 or later"),
    "own TLS": ({**OURS, "config": {"ssl.client.auth": "none"}}, "ssl.client.auth in config are the operator's"),
    "own users": ({**KAFKA, "config": {"super.users": "User:x"}}, "super.users in config are the operator's"),
    "peer": (
        {"security": {"networkPolicyPeers": [{}]}},
        "expected podSelector, namespaceSelector, or both; or ipBlock",
    ),
    "mechanism": ({"security": {"mechanism": "GSSAPI"}}, "SCRAM-SHA-512"),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_made(spec: dict[str, Any], message: str) -> None:
    read = read_spec(spec)
    found = read if isinstance(read, Problem) else problem_of(Owner("demo", "ns", "uid-1", read))
    assert found is not None
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(found.message)


def test_old_releases_are_not_refused_what_they_can() -> None:
    for spec in ALL.values():
        assert problem_of(Owner("demo", "ns", "uid-1", LogClusterSpec.model_validate(spec))) is None
