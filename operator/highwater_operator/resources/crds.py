"""The CustomResourceDefinitions, generated from the models: ``python -m highwater_operator.resources.crds``.

They are committed, so that ``kubectl apply`` and Helm need no Python; a test fails when they differ from the models.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel
from pydantic.json_schema import PydanticJsonSchemaWarning

from highwater_chaos.experiment.base import OneOf
from highwater_chaos.experiment.model import ExperimentSpec
from highwater_operator.resources.chaos_experiment import ChaosExperimentStatus
from highwater_operator.resources.log_cluster import LogClusterSpec, LogClusterStatus
from highwater_operator.resources.structural import Choice, structural

GROUP: Final = "highwater.dev"
VERSION: Final = "v1alpha1"
FOLDER: Final = Path("manifests/base/crds")
"""Where the files go, below the root of the repository. The chart links to them."""

_HEAD: Final = (
    "# Generated from the models in operator/highwater_operator/resources:"
    " python -m highwater_operator.resources.crds\n"
)


def definitions() -> dict[str, dict[str, Any]]:
    """Every CustomResourceDefinition, by its file name."""
    return {
        "logclusters.yaml": _definition(
            plural="logclusters",
            kind="LogCluster",
            short="lc",
            description="A cluster of brokers of a replicated log, and of the controllers or ZooKeeper servers that"
            " keep its metadata.",
            spec=LogClusterSpec,
            status=LogClusterStatus,
            spec_rules=[
                {
                    "rule": "self.mode == oldSelf.mode",
                    "message": "mode cannot be changed: what keeps the metadata is fixed when a cluster is made",
                },
                {
                    "rule": "self.runtime == oldSelf.runtime && (self.runtime == 'highwater' ||"
                    " !has(self.version) || self.version == oldSelf.version)",
                    "message": "runtime and version cannot be changed: make a new LogCluster",
                },
                {
                    "rule": "(self.runtime == 'apache-kafka') == has(self.version)",
                    "message": "version: expected a release, such as 3.4.1, with runtime apache-kafka, and no other",
                },
                {
                    "rule": "self.mode == 'kraft' || !has(self.version) || self.version.matches('^[1-3][.]')",
                    "message": "version: mode zookeeper is in releases of Apache Kafka below 4.0.0 only",
                },
                {
                    "rule": "self.mode == 'zookeeper' || !has(self.zookeepers)",
                    "message": "zookeepers: mode kraft has no ZooKeeper servers: give controllers, or mode",
                },
                {
                    "rule": "self.mode == 'kraft' || !has(self.controllers)",
                    "message": "controllers: mode zookeeper has none, since a broker is elected: give zookeepers",
                },
                {
                    "rule": "self.mode == 'kraft' || !has(self.metadataVersion)",
                    "message": "metadataVersion: mode zookeeper has none: give inter.broker.protocol.version in config",
                },
                {
                    "rule": "self.mode == 'zookeeper' || !has(self.zookeeperImage)",
                    "message": "zookeeperImage: mode kraft has no ZooKeeper servers",
                },
                {
                    "rule": "!has(self.controllers) || self.controllers % 2 == 1",
                    "message": "controllers must be odd: an even number survives no more failures than one fewer",
                },
                {
                    "rule": _unchanged("controllers", 3),
                    "message": "controllers cannot be changed: the voters of a quorum are fixed when it is made",
                },
                {
                    "rule": _unchanged("zookeepers", 3),
                    "message": "zookeepers cannot be changed: the servers of an ensemble are fixed when it is made",
                },
                {
                    "rule": "has(self.security) == has(oldSelf.security) && (!has(self.security) ||"
                    " self.security.mechanism == oldSelf.security.mechanism)",
                    "message": "security cannot be turned on or off, and its mechanism cannot be changed: make a new"
                    " LogCluster and move topics there",
                },
                {
                    "rule": "!has(self.security) || self.mode == 'kraft'",
                    "message": "security: mode zookeeper has no TLS between brokers and ZooKeeper servers",
                },
                {
                    "rule": "self.storage == oldSelf.storage",
                    "message": "storage cannot be changed: make a new LogCluster and move topics there",
                },
            ],
            columns=[
                _column("Mode", ".spec.mode"),
                _column("Brokers", ".status.brokersReady"),
                _column("Controllers", ".status.controllersReady"),
                _column("ZooKeepers", ".status.zookeepersReady"),
                _column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
                _column("Reason", '.status.conditions[?(@.type=="Ready")].reason', priority=1),
                _column("Bootstrap", ".status.bootstrap", priority=1),
                _column("Age", ".metadata.creationTimestamp", type_="date"),
            ],
            scale={
                "specReplicasPath": ".spec.brokers",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        ),
        "chaosexperiments.yaml": _definition(
            plural="chaosexperiments",
            kind="ChaosExperiment",
            short="cx",
            description="Faults injected into a cluster under load, and a verdict on what became of its records.",
            spec=ExperimentSpec,
            status=ChaosExperimentStatus,
            spec_rules=[
                {
                    "rule": "!has(self.assertions) || self.assertions.all(one, has(one.use) ||"
                    " (has(one.name) && has(one.promql) && has(one.during)))",
                    "message": "assertions: expected use, or name, promql and during",
                },
                {
                    "rule": "has(self.cluster) != has(self.clusterRef)",
                    "message": "expected either cluster (to bring up) or clusterRef (one that runs)",
                },
                {
                    "rule": "self == oldSelf",
                    "message": "an experiment cannot be changed: delete it and apply it again",
                },
                {
                    "rule": "type(self.timeout) == string && duration(self.timeout) > duration('0s')",
                    "message": "timeout: expected more than 0: the schedule has to have time to run",
                },
                {
                    "rule": "!has(self.schedule) || type(self.timeout) != string ||"
                    " self.schedule.filter(step, has(step.wait) && type(step.wait) == string)"
                    ".map(step, duration(step.wait)).sum() < duration(self.timeout)",
                    "message": "timeout: expected more than the sum of the waits in schedule, which takes longer",
                },
            ],
            columns=[
                _column("Phase", ".status.phase"),
                _column("Verdict", ".status.verdict"),
                _column("As-Expected", ".status.expected", type_="boolean"),
                _column("Faults", ".status.faults.injected", type_="integer"),
                _column("Healed", ".status.faults.healed", type_="integer"),
                _column("Age", ".metadata.creationTimestamp", type_="date"),
                _column("Reason", ".status.reason", priority=1),
            ],
        ),
    }


def files() -> dict[str, str]:
    """The text of every file, by its name."""
    return {
        name: _HEAD + yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=120)
        for name, made in definitions().items()
    }


def _definition(
    *,
    plural: str,
    kind: str,
    short: str,
    description: str,
    spec: type[BaseModel],
    status: type[BaseModel],
    spec_rules: Sequence[dict[str, Any]],
    columns: Sequence[dict[str, Any]],
    scale: dict[str, Any] | None = None,
) -> dict[str, Any]:
    spec_schema = _schema(spec)
    spec_schema["x-kubernetes-validations"] = list(spec_rules)
    status_schema = _schema(status)
    status_schema["properties"]["conditions"] |= {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}", "labels": {"app.kubernetes.io/part-of": "highwater"}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "singular": kind.lower(),
                "kind": kind,
                "listKind": f"{kind}List",
                "shortNames": [short],
                "categories": ["all", "highwater"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}, **({} if scale is None else {"scale": scale})},
                    "additionalPrinterColumns": list(columns),
                    "schema": {
                        "openAPIV3Schema": {
                            "description": description,
                            "type": "object",
                            "required": ["spec"],
                            "properties": {
                                "apiVersion": {"type": "string"},
                                "kind": {"type": "string"},
                                "metadata": {"type": "object"},
                                "spec": spec_schema,
                                "status": status_schema,
                            },
                        }
                    },
                }
            ],
        },
    }


def _unchanged(field: str, default: int) -> str:
    """A rule: the same as before, where an absent field means ``default``."""
    now, before = (f"(has({of}.{field}) ? {of}.{field} : {default})" for of in ("self", "oldSelf"))
    return f"{now} == {before}"


def _column(name: str, path: str, *, type_: str = "string", priority: int = 0) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "type": type_, "jsonPath": path}
    return {**made, "priority": priority} if priority else made


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PydanticJsonSchemaWarning)
        schema = model.model_json_schema(by_alias=True, mode="serialization")
    return structural(schema, dict(_choices(OneOf)))


def _choices(base: type[OneOf]) -> Iterator[tuple[str, Choice]]:
    for model in base.__subclasses__():
        names = [field.alias or name for name, field in model.model_fields.items() if name not in model.common()]
        yield model.__name__, Choice(names, model.required())
        yield from _choices(model)


def main() -> None:
    """Write the files, from the root of the repository."""
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
