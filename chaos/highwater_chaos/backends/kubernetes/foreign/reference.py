"""What a ``clusterRef`` to a cluster of others says: where its pods are, and how clients get in."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import yaml

from highwater_chaos.backends.attach.discovery import Found, discover
from highwater_chaos.backends.attach.session import Access
from highwater_chaos.backends.kubernetes.cluster import ClusterError
from highwater_chaos.backends.kubernetes.reference import DUMPER, of_reference
from highwater_chaos.base.user_error import UserError
from highwater_chaos.experiment import ChaosExperiment, ExperimentError
from highwater_chaos.experiment.attached import own_topics, parse_attached
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import SECRET, Json
from highwater_runtime.host.security.client_config import KNOWN

STRIMZI_CLUSTER: Final = "strimzi.io/cluster"
_STRIMZI_KIND: Final = "strimzi.io/kind"
_FILE: Final = "client.properties"
_MOST_CONFIG: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ForeignReference:
    """``labels``: of the pods; none: only clients have to do with it. ``volume``: of the pods, with their data; None:
    their only claim. ``secret``: with client properties under ``key``;
    empty: clients need none."""

    namespace: str
    what: str
    labels: dict[str, str]
    container: str
    bootstrap: str
    secret: str
    key: str
    volume: str | None = None

    @property
    def selector(self) -> str:
        """Return the labels as the API server takes them."""
        return ",".join(f"{name}={value}" for name, value in sorted(self.labels.items()))


def foreign_reference_of(found: Json) -> ForeignReference | None:
    """What an experiment, as the API server has it, refers to; None: it brings a cluster, or names a LogCluster."""
    given = found["spec"].get("clusterRef") or {}
    if not given or given.get("name"):
        return None
    namespace = str(found["metadata"]["namespace"])
    config = given.get("clientConfig") or {}
    strimzi, labels = given.get("strimzi"), dict(given.get("selector") or {})
    bootstrap, what = str(given.get("bootstrap") or ""), f"pods {labels} of namespace {namespace}"
    if strimzi:
        labels = {STRIMZI_CLUSTER: strimzi, _STRIMZI_KIND: "Kafka"}
        bootstrap = bootstrap or f"{strimzi}-kafka-bootstrap:9092"
        what = f"Kafka {namespace}/{strimzi} of Strimzi"
    elif not labels:
        what = f"the cluster at {bootstrap}"
    return ForeignReference(
        namespace=namespace,
        what=what,
        labels=labels,
        container=str(given.get("container") or "kafka") if labels else "",
        bootstrap=",".join(_qualified(one, namespace) for one in bootstrap.split(",")),
        secret=str(config.get("secret") or ""),
        key=str(config.get("key") or _FILE),
        volume=given.get("volume"),
    )


def unresolved(found: Json) -> ChaosExperiment:
    """The experiment, as far as it can be read without a look at its cluster. Raises ``ExperimentError``."""
    metadata = {"name": found["metadata"]["name"], "namespace": found["metadata"]["namespace"]}
    plain = {**_head(found), "metadata": metadata, "spec": found["spec"]}
    return parse_experiment(_text(plain), f"chaosexperiment/{metadata['name']}", references=True)


def resolved(found: Json, cluster: Found) -> ChaosExperiment:
    """The experiment on the cluster that was found.

    Raises:
        ClusterError: it cannot be run there.
    """
    metadata = {"name": found["metadata"]["name"], "namespace": found["metadata"]["namespace"]}
    spec = {name: value for name, value in found["spec"].items() if name != "clusterRef"}
    spec["cluster"] = {"topics": found["spec"]["clusterRef"].get("topics") or []}
    source = f"chaosexperiment/{metadata['name']}"
    text = _text({**_head(found), "metadata": metadata, "spec": spec})
    try:
        return parse_attached(text, source, cluster.cluster_id, list(cluster.brokers), cluster.voters, cluster.config)
    except ExperimentError as error:
        problems = [of_reference(one) for one in error.problems]
        texts = [f"{one.path}: {one.message}" if one.path else one.message for one in problems]
        raise ClusterError("; ".join(texts)) from error


def look_at(access: Access, found: Json) -> Found:
    """The cluster of an experiment, none of whose topics may be there yet.

    Raises:
        ClusterError: it cannot be reached, or has one of them.
    """
    topics = own_topics(unresolved(found))
    try:
        cluster = discover(access, topics)
    except UserError as error:
        raise ClusterError(str(error).replace("--backend attach: ", "spec.clusterRef: ")) from error
    if cluster.taken:
        raise ClusterError(
            f"cluster {cluster.cluster_id} has {', '.join(cluster.taken)} already: an experiment's topics are its own,"
            " made when it begins and deleted when it is over; give the topic another name"
        )
    return cluster


def access_to(api: Kube, reference: ForeignReference, folder: Path, system: str) -> Access:
    """How clients get in; properties from a Secret are written into ``folder``. ``system``: where Highwater is.

    Raises:
        ClusterError: the Secret cannot be read, or what is in it; the message says what to do.
    """
    try:
        file = None if not reference.secret else _written(api, reference, folder, system)
        return Access.of(reference.bootstrap, file)
    except UserError as error:
        text = str(error).replace(
            f"--client-config: {folder / _FILE}", f"Secret {reference.secret}, key {reference.key}"
        )
        # Whoever reads the experiment reads this, and need not be one who may read the Secret.
        text = re.sub(r"property '([^'\n]*)'", lambda name: name[0] if name[1] in KNOWN else "a property", text)
        raise ClusterError(f"spec.clusterRef: {text.replace('--bootstrap', 'bootstrap')}") from error


def how_to_grant(reference: ForeignReference, system: str) -> str:
    """The commands that let all accounts of namespace ``system`` read the Secret of a reference: the operator's, and
    that of each runner, which is made for its run."""
    name, where = f"highwater-{reference.secret}"[:63].rstrip("-."), f"kubectl -n {reference.namespace}"
    return (
        f"{where} create role {name} --verb=get --resource=secrets --resource-name={reference.secret} && {where} create"
        f" rolebinding {name} --role={name} --group=system:serviceaccounts:{system}"
    )


def _written(api: Kube, reference: ForeignReference, folder: Path, system: str) -> Path:
    place = f"Secret {reference.namespace}/{reference.secret}"
    try:
        found = api.get(SECRET, reference.namespace, reference.secret)
    except KubeError as error:
        if error.status != 403:
            raise ClusterError(f"spec.clusterRef.clientConfig: {place} cannot be read: {error}") from error
        raise ClusterError(
            f"spec.clusterRef.clientConfig: Highwater may not read {place}. Whoever administers the namespace allows it"
            f" for this Secret alone: {how_to_grant(reference, system)}"
        ) from error
    if found is None:
        raise ClusterError(f"spec.clusterRef.clientConfig: there is no {place}")
    text = (found.get("data") or {}).get(reference.key)
    if text is None:
        keys = ", ".join(sorted(found.get("data") or {})) or "none"
        raise ClusterError(f"spec.clusterRef.clientConfig: {place} has no key {reference.key}; found {keys}")
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ClusterError(f"spec.clusterRef.clientConfig: {place}, key {reference.key}, is no base 64") from error
    if len(content) > _MOST_CONFIG:
        raise ClusterError(f"spec.clusterRef.clientConfig: {place}, key {reference.key}, has more than 1 MiB")
    file = folder / _FILE
    file.touch(mode=0o600)
    file.write_bytes(content)
    return file


def _qualified(server: str, namespace: str) -> str:
    """A Service's short name means one of the experiment's namespace: the runner is in another one."""
    host, colon, port = server.strip().rpartition(":")
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        name = host.lower()
        if colon and re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) and name != "localhost":
            return f"{name}.{namespace}.svc:{port}"
    return server.strip()


def _head(found: Json) -> Json:
    return {"apiVersion": found["apiVersion"], "kind": found["kind"]}


def _text(plain: Json) -> str:
    return str(yaml.dump(plain, Dumper=DUMPER, sort_keys=False))
