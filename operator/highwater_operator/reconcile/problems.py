"""What is wrong with a LogCluster that its CRD cannot see: found first, so that nothing is half-made."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from kubernetes.utils.quantity import parse_quantity
from pydantic import ValidationError

from highwater_chaos.apache_kafka.node_config import misplaced
from highwater_chaos.apache_kafka.versions import why_not_in_pods
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.experiment.consistency import switch_problem
from highwater_chaos.machine.disk.volumes import SMALLEST
from highwater_operator.objects.config_map import RESERVED, node_properties
from highwater_operator.objects.naming import Owner, roles_of
from highwater_operator.objects.security import why_not as why_no_security
from highwater_operator.resources import LogClusterSpec
from highwater_runtime.config import ConfigError
from highwater_runtime.host.config.file import read_settings

LONGEST_NAME: Final = 41
"""``<name>-controller-<hash of ten>`` is a label's value, of which there are 63 characters."""

_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


class Problem(NamedTuple):
    """Why a LogCluster is not served: a condition's reason and message."""

    reason: str
    message: str


def read_spec(found: Any) -> LogClusterSpec | Problem:
    """The spec by the model, which knows more than the CRD's schema."""
    try:
        return LogClusterSpec.model_validate(found)
    except ValidationError as error:
        lines = (f"spec.{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors())
        return Problem("InvalidSpec", "; ".join(lines))


def problem_of(owner: Owner, at: str = "spec") -> Problem | None:
    """The first reason to refuse a cluster; ``at``: where its spec is in the object that people wrote."""
    spec = owner.spec
    if spec.kafka is not None and (why := why_not_in_pods(spec.kafka, spec.mode)) is not None:
        return Problem("RuntimeNotSupported", f"{at}: {why}. Nothing was created")
    config = _config(owner, at) if spec.kafka is None else _apache_kafka(owner, at)
    wrong = [*_name(owner), *config, *_storage(spec, at), *_topics(spec, at)]
    if (why := why_no_security(owner)) is not None:
        wrong.append(f"{at}.security: {why}")
    return Problem("InvalidSpec", "; ".join(wrong)) if wrong else None


def without_agents(spec: LogClusterSpec) -> Problem | None:
    """Why a cluster is refused where no node agents are installed."""
    if not spec.storage.crashable:
        return None
    return Problem(
        "NoAgents",
        "spec.storage.crashable needs the node agents, and Highwater is installed without them: install the chart with"
        " agent.enabled=true, or leave out spec.storage.crashable. Nothing was created",
    )


def _storage(spec: LogClusterSpec, at: str) -> Iterator[str]:
    """What an agent would refuse later, when the pods wait for it."""
    if not spec.storage.crashable:
        return
    size, least = parse_quantity(spec.storage.size), SMALLEST[spec.file_system]  # type: ignore[no-untyped-call]
    if size < least:
        yield (
            f"{at}.storage.size: expected at least {least >> 20}Mi, which a crashable volume with"
            f" {spec.file_system} needs, found {spec.storage.size}"
        )


def _name(owner: Owner) -> Iterator[str]:
    if len(owner.name) > LONGEST_NAME or not _NAME.fullmatch(owner.name):
        yield (
            f"metadata.name: expected at most {LONGEST_NAME} lower-case letters, digits and dashes, a letter first,"
            f" found {owner.name!r}"
        )


def _config(owner: Owner, at: str) -> Iterator[str]:
    spec = owner.spec
    yield from _mode(spec, at)
    for name, value in spec.switches.items():
        if problem := switch_problem(name, value, spec):
            yield f"{at}.switches.{name}: {problem}"
            return
    reserved = sorted(set(spec.config) & RESERVED)
    if reserved:
        yield f"{at}.config: {', '.join(reserved)} are the operator's to set"
        return
    seen: set[str] = set()
    try:
        files = {
            role: render_properties(node_properties(owner, role, 0)) for role in roles_of(owner) if role != "zookeeper"
        }
    except ValueError as error:  # a name that no file can hold, or an unknown metadataVersion
        yield f"{at}: {error}"
        return
    with tempfile.TemporaryDirectory(prefix="highwater-") as folder:
        for role, text in files.items():
            path = Path(folder) / f"{role}.properties"
            path.write_text(text, encoding="utf-8")
            try:
                read_settings(path)
            except ConfigError as error:
                seen |= {re.sub(r"^[^ ]*\.properties(:\d+)?: ", "", line) for line in str(error).splitlines()}
    yield from (f"{at}.config: {line}" for line in sorted(seen))


def _apache_kafka(owner: Owner, at: str) -> Iterator[str]:
    """What Kafka's nodes would not start with; of its own properties Kafka knows itself."""
    spec = owner.spec
    yield from _mode(spec, at)
    yield from misplaced(spec.config, spec.switches, at)
    try:
        render_properties(node_properties(owner, "broker", 0))
    except ValueError as error:  # a name that no file can hold
        yield f"{at}: {error}"


def _mode(spec: LogClusterSpec, at: str) -> Iterator[str]:
    """What only clusters of the other mode have."""
    given = spec.model_fields_set
    if spec.mode == "kraft":
        for field, name in (("zookeepers", "zookeepers"), ("zookeeper_image", "zookeeperImage")):
            if field in given:
                yield f"{at}.{name}: mode kraft has no ZooKeeper servers"
        if spec.controllers % 2 == 0:
            yield f"{at}.controllers: expected an odd number, found {spec.controllers}"
        return
    if "controllers" in given:
        yield f"{at}.controllers: mode zookeeper has none, since a broker is elected: give zookeepers instead"
    if spec.metadata_version is not None:
        yield f"{at}.metadataVersion: mode zookeeper has none: give inter.broker.protocol.version in config"


def _topics(spec: LogClusterSpec, at: str) -> Iterator[str]:
    names = [topic.name for topic in spec.topics]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{at}.topics: {name} is there more than once"
    for topic in spec.topics:
        if topic.replication_factor is not None and topic.replication_factor > spec.brokers:
            yield (
                f"{at}.topics: {topic.name} asks for {topic.replication_factor} replicas of each partition,"
                f" but there are {spec.brokers} brokers"
            )
        for replicas in topic.assignment or ():
            strangers = [broker for broker in replicas if broker >= spec.brokers]
            if strangers:
                yield f"{at}.topics: {topic.name} is assigned to brokers {strangers}, but ids end at {spec.brokers - 1}"
