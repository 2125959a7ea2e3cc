"""``ChaosExperiment`` (``highwater.dev/v1alpha1``): one file for every backend."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from highwater_chaos.experiment.base import Model, NodeIndex, TopicName
from highwater_chaos.experiment.steps import CreateTopic, Step
from highwater_chaos.experiment.units import Duration, EventsPerSecond, Rate

API_VERSION = "highwater.dev/v1alpha1"

REGISTER_TOPIC = "registers"
"""The topic whose properties are the registers of ``workload.metadata``; the harness creates it."""


def _switch_value(found: Any) -> Any:
    # YAML 1.1, which kubectl speaks too, reads a bare ``off`` as false.
    return {True: "on", False: "off"}[found] if isinstance(found, bool) else found


_LONGEST_SWITCH_VALUE = 60
SwitchValue = Annotated[
    str,
    BeforeValidator(_switch_value),
    Field(max_length=_LONGEST_SWITCH_VALUE),
    WithJsonSchema({"anyOf": [{"type": "string", "maxLength": _LONGEST_SWITCH_VALUE}, {"type": "boolean"}]}),
]
SwitchValues = dict[str, SwitchValue]


class Cluster(Model):
    """The cluster that the experiment brings up. ``config`` takes Kafka's property names; ``runtime`` is the software
    that runs, ``file_system`` what its disks are formatted with (the simulator has but one of its own)."""

    mode: Literal["kraft", "zookeeper"] = "kraft"
    runtime: Literal["highwater", "apache-kafka"] = "highwater"
    file_system: Literal["ext4", "xfs"] = "ext4"
    brokers: Annotated[int, Field(ge=1, le=100)] = 3
    controllers: Annotated[int, Field(ge=1, le=5)] = 3
    switches: SwitchValues = Field(default_factory=dict)
    config: dict[str, str | int | bool] = Field(default_factory=dict)
    metadata_version: str | None = None
    topics: list[CreateTopic] = Field(default_factory=list)


class ClusterRef(Model):
    """A ``LogCluster`` that already runs."""

    name: str


def _acks(found: Any) -> Any:
    if isinstance(found, bool) or not isinstance(found, str | int):
        return found
    return "all" if str(found) == "-1" else str(found)


Acks = Annotated[
    Literal["0", "1", "all"],
    BeforeValidator(_acks),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": ["all", "1", "0", "-1"]},
                {"type": "integer", "enum": [1, 0, -1]},
            ]
        }
    ),
]
"""How many replicas answer for a record; a file may write the figures bare, and ``-1`` for ``all``, as Kafka does."""


class MetadataWorkload(Model):
    """Clients that treat topic configurations as registers: writers change them at the active controller, readers read
    them at any node. ``rate`` is that of all of them together; ``reads`` is what readers ask for."""

    writers: Annotated[int, Field(ge=0, le=100)] = 1
    readers: Annotated[int, Field(ge=0, le=100)] = 3
    rate: Rate = EventsPerSecond(50.0)
    reads: Literal["linearizable", "stale"] = "linearizable"


class Workload(Model):
    """Clients that write and read while things break. ``rate`` is that of all producers together; ``driver`` says whose
    producers and consumers they are (those that the harness needs for itself are always its own)."""

    driver: Literal["highwater", "confluent-kafka"] = "highwater"
    producers: Annotated[int, Field(ge=0, le=1000)] = 1
    rate: Rate = EventsPerSecond(100.0)
    acks: Acks = "all"
    idempotence: bool = True
    consumers: Annotated[int, Field(ge=0, le=1000)] = 1
    topics: list[TopicName] | None = None
    metadata: MetadataWorkload | None = None
    request_timeout: Duration = 2_000_000_000
    delivery_timeout: Duration = 30_000_000_000


class Expectation(Model):
    """What a run with these switches must come to. ``anomalies`` must all be among those found."""

    when: SwitchValues = Field(default_factory=dict)
    verdict: Literal["pass", "fail", "inconclusive"]
    anomalies: list[str] = Field(default_factory=list)


class ExperimentSpec(Model):
    """What to run, how long at most, and what to expect."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    timeout: Duration
    cluster: Cluster | None = None
    cluster_ref: ClusterRef | None = None
    workload: Workload = Workload()
    schedule: list[Step] = Field(default_factory=list)
    recovery: Duration = 60_000_000_000
    assertions: list[dict[str, Any]] = Field(default_factory=list)
    checks: Annotated[list[str], Field(min_length=1, default_factory=lambda: ["all"])]
    expect: list[Expectation] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_cluster(self) -> Self:
        if (self.cluster is None) == (self.cluster_ref is None):
            found = "neither" if self.cluster is None else "both"
            raise PydanticCustomError("one_cluster", "expected cluster or clusterRef; found {found}", {"found": found})
        return self


class Metadata(Model):
    """Kubernetes object metadata; only the name matters outside Kubernetes."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]
    namespace: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class ChaosExperiment(Model):
    """The whole file."""

    api_version: Literal["highwater.dev/v1alpha1"]
    kind: Literal["ChaosExperiment"]
    metadata: Metadata
    spec: ExperimentSpec

    @property
    def cluster(self) -> Cluster:
        """The cluster to bring up; only for experiments whose cluster is not a reference."""
        assert self.spec.cluster is not None, "clusterRef is refused before anything starts"
        return self.spec.cluster

    def with_seed_and_switches(self, seed: int | None, switches: dict[str, str]) -> ChaosExperiment:
        """A copy with another seed and some switches set otherwise, as the command line asks."""
        cluster = self.cluster.model_copy(update={"switches": {**self.cluster.switches, **switches}})
        spec = self.spec.model_copy(update={"seed": self.spec.seed if seed is None else seed, "cluster": cluster})
        return self.model_copy(update={"spec": spec})


__all__ = [
    "API_VERSION",
    "ChaosExperiment",
    "Cluster",
    "Expectation",
    "ExperimentSpec",
    "MetadataWorkload",
    "NodeIndex",
    "Workload",
]
