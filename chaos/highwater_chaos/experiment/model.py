"""``ChaosExperiment`` (``highwater.dev/v1alpha1``): one file for every backend."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from highwater_chaos.apache_kafka.versions import default_metadata_version, newest
from highwater_chaos.base.quantities import Duration
from highwater_chaos.experiment.assertions import Assertion, PrometheusServer
from highwater_chaos.experiment.base import KEY_NAME, LABEL, SUBDOMAIN, Model, NodeIndex
from highwater_chaos.experiment.steps import CreateTopic, Step
from highwater_chaos.experiment.workload import Workload
from highwater_chaos.records.register_topic import REGISTER_TOPIC
from highwater_runtime.metadata.metadata_version import MetadataVersion

API_VERSION = "highwater.dev/v1alpha1"


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


def _without_counts_of_nodes(schema: dict[str, Any]) -> None:
    # An API server writes defaults into files that leave them out, and a file must not count nodes of the other mode.
    for field in ("controllers", "zookeepers"):
        schema["properties"][field].pop("default", None)
    del schema["properties"]["attached"]  # runs write it down; no file says it


class Attached(Model):
    """A cluster of somebody else's, as a run with ``--backend attach`` found it: its id, the ids of its brokers and of
    the voters of its quorum (none in ZooKeeper mode)."""

    cluster_id: str
    brokers: list[int]
    controllers: list[int]


class Cluster(Model):
    """A cluster. ``config`` takes Kafka's property names; ``runtime`` is the software that runs, ``file_system`` what
    its disks are formatted with (the simulator has but one of its own)."""

    model_config = ConfigDict(json_schema_extra=_without_counts_of_nodes)

    mode: Annotated[
        Literal["kraft", "zookeeper"],
        Field(
            description="Who keeps the metadata: kraft, a quorum of controllers; zookeeper, where one of the brokers is"
            " the controller."
        ),
    ] = "kraft"
    runtime: Annotated[Literal["highwater", "apache-kafka"], Field(description="The software that runs.")] = "highwater"
    version: Annotated[
        str | None,
        Field(
            max_length=20,
            description="With runtime apache-kafka: the release, 3.4.1; absent: the newest that was tested.",
        ),
    ] = None
    file_system: Annotated[
        Literal["ext4", "xfs"], Field(description="What disks are formatted with, where they can lose power.")
    ] = "ext4"
    brokers: Annotated[int, Field(ge=1, le=100, description="How many brokers; their ids begin at 0.")] = 3
    controllers: Annotated[
        int,
        Field(
            ge=1,
            le=5,
            description="How many controllers, an odd number: the voters of the metadata quorum (KIP-500). Absent: 3;"
            " mode zookeeper has none.",
        ),
    ] = 3
    zookeepers: Annotated[
        int,
        Field(ge=1, le=5, description="How many ZooKeeper servers in mode zookeeper. Absent: 3; mode kraft has none."),
    ] = 3
    switches: SwitchValues = Field(
        description="Fixes to turn off: {replica-epoch-check: off}; absent: all are on.", default_factory=dict
    )
    config: dict[str, str | int | bool] = Field(
        description="Properties of every node, by Kafka's names: {min.insync.replicas: 2}.", default_factory=dict
    )
    metadata_version: Annotated[
        str | None, Field(description="metadata.version to start from, by Kafka's name: 3.4-IV0; absent: the latest.")
    ] = None
    topics: list[CreateTopic] = Field(description="Topics to create.", default_factory=list)
    attached: Attached | None = None
    """Of a cluster that is not the run's own; None: the run brings it up."""

    @property
    def kafka(self) -> str | None:
        """The release of Apache Kafka that runs; None: our own runtime does, or it is not known (attached)."""
        if self.runtime == "highwater" or self.attached is not None:
            return None
        return self.version or newest(self.mode)

    @property
    def first_metadata_version(self) -> str | None:
        """The metadata.version that the cluster begins with; None: it has none, or it is not known."""
        given = self.metadata_version
        if self.mode == "zookeeper" or self.attached is not None:
            return None
        if self.kafka is not None:
            return given or default_metadata_version(self.kafka)
        try:
            return (MetadataVersion.latest() if given is None else MetadataVersion.of(given)).version
        except ValueError:
            return None

    @model_serializer(mode="wrap")
    def _without_the_other_mode(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Leave out how many nodes there would be in the other mode, which a file must not say.

        Without a return type, since pydantic would take that for the schema of what is written."""
        written: dict[str, Any] = handler(self)
        written.pop("zookeepers" if self.mode == "kraft" else "controllers", None)
        if self.attached is None:
            written.pop("attached", None)
        return written


class ClientConfigSecret(Model):
    """A Secret in the experiment's namespace with Kafka's client properties."""

    secret: Annotated[str, Field(min_length=1, max_length=253, description="Name of the Secret.")]
    key: Annotated[
        str,
        Field(pattern=KEY_NAME, max_length=253, description="Its key with the properties."),
    ] = "client.properties"


_LabelText = Annotated[str, Field(max_length=63)]


class ClusterRef(Model):
    """A cluster that already runs on Kubernetes: a ``LogCluster`` by ``name``, borrowed and given back as it was; or
    one of others: Strimzi's, or any pods of Apache Kafka by labels, or brokers by their address alone."""

    name: Annotated[
        str | None,
        Field(min_length=1, max_length=253, description="Of a LogCluster in the experiment's namespace."),
    ] = None
    strimzi: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="Name of a Kafka resource of Strimzi in that namespace."),
    ] = None
    selector: Annotated[
        dict[str, _LabelText] | None,
        Field(min_length=1, max_length=20, description="Labels of the pods that are the cluster's nodes."),
    ] = None
    container: Annotated[
        str | None,
        Field(
            pattern=LABEL,
            max_length=63,
            description="With selector: the pods' container with Kafka; absent: kafka.",
        ),
    ] = None
    volume: Annotated[
        str | None,
        Field(
            pattern=LABEL,
            max_length=63,
            description="With selector or strimzi: the pods' volume with the data, for faults of disks; absent: their"
            " only claim.",
        ),
    ] = None
    bootstrap: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=1000,
            description="host:port of brokers, several separated by commas; with strimzi, absent:"
            " NAME-kafka-bootstrap:9092.",
        ),
    ] = None
    client_config: Annotated[
        ClientConfigSecret | None, Field(description="Client properties, for TLS and SASL; not with name.")
    ] = None
    topics: Annotated[
        list[CreateTopic],
        Field(
            description="Its own topics: created when it begins, deleted when it is over; it leaves all others alone.",
            default_factory=list,
        ),
    ]

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        def given(*fields: str) -> list[str]:
            return [name for name in fields if getattr(self, name) is not None]

        def wrong(expected: str, found: list[str]) -> PydanticCustomError:
            shown = {"client_config": "clientConfig"}
            text = ", ".join(shown.get(one, one) for one in found) or "none"
            return PydanticCustomError("one_reference", "expected " + expected + "; found {found}", {"found": text})

        kinds = given("name", "strimzi", "selector") or given("bootstrap")
        if len(kinds) != 1:
            raise wrong("one of name, strimzi, selector (with bootstrap) and bootstrap", kinds)
        if kinds == ["name"] and (more := given("container", "volume", "bootstrap", "client_config")):
            raise wrong("nothing of these with name: a LogCluster says it all", more)
        if kinds == ["selector"] and self.bootstrap is None:
            raise wrong("bootstrap with selector: host:port of a broker", [])
        if kinds == ["bootstrap"] and (more := given("container", "volume")):
            raise wrong("selector with container or volume", more)
        return self


class LoggedLine(Model):
    """A line that a node must have logged: what shows why a run came out as it did."""

    node: Annotated[
        str | None, Field(max_length=60, description="The node that logged it, such as broker-1; absent: any node.")
    ] = None
    line: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="A part of the line; * stands for any text, as in 'orders-0*INELIGIBLE_REPLICA'.",
        ),
    ]


class Expectation(Model):
    """The verdict expected with these switches and versions. All ``anomalies`` must be among those found, all
    ``assertions`` of these names must have failed, and nodes must have ``logged`` all these lines."""

    when: SwitchValues = Field(
        description="Switches in force: {replica-epoch-check: off}; kafka and metadataVersion: conditions on versions,"
        " {kafka: '<3.5'}; absent: any.",
        default_factory=dict,
    )
    verdict: Annotated[Literal["pass", "fail", "inconclusive"], Field(description="What is expected.")]
    anomalies: list[str] = Field(
        description="Anomalies that a fail must show, and may show more, such as lost-write.", default_factory=list
    )
    assertions: list[str] = Field(description="Names of assertions that must fail, at least.", default_factory=list)
    logged: list[LoggedLine] = Field(
        max_length=20,
        description="Lines that nodes must have logged; not in the simulator, whose nodes write no logs.",
        default_factory=list,
    )


class ExperimentSpec(Model):
    """What to run, how long at most, and what to expect."""

    seed: Annotated[
        int, Field(ge=0, lt=2**63, description="Seed of all that is drawn: targets, random faults, clients' choices.")
    ] = 0
    timeout: Annotated[
        Duration,
        Field(
            description="How long the schedule may take (a duration such as 3m); past it everything is healed, and the"
            " run is inconclusive."
        ),
    ]
    cluster: Annotated[Cluster | None, Field(description="The cluster to bring up and take down.")] = None
    cluster_ref: ClusterRef | None = None
    workload: Annotated[Workload, Field(description="Clients that write and read while things break.")] = Workload()
    schedule: list[Step] = Field(description="Steps, in order.", default_factory=list)
    recovery: Annotated[
        Duration,
        Field(description="How long the healed cluster may take to recover. A duration."),
    ] = 60_000_000_000
    assertions: list[Assertion] = Field(
        description="What PromQL must say of the cluster's metrics, and in which phase.", default_factory=list
    )
    default_assertions: Annotated[
        bool, Field(description="Whether a run also fails for an unclean election where nothing allows one.")
    ] = True
    prometheus: PrometheusServer | None = None
    checks: list[str] = Field(
        min_length=1,
        description="What is looked for: all, or names from docs/checks.md; absent: all.",
        default_factory=lambda: ["all"],
    )
    expect: list[Expectation] = Field(
        description="The expected verdict: the first entry whose `when` matches applies; none: a pass.",
        default_factory=list,
    )

    @model_validator(mode="after")
    def _one_cluster(self) -> Self:
        if (self.cluster is None) == (self.cluster_ref is None):
            found = "neither" if self.cluster is None else "both"
            raise PydanticCustomError("one_cluster", "expected cluster or clusterRef; found {found}", {"found": found})
        return self


DESCRIPTION: Final = "highwater.dev/description"
"""The annotation in which an experiment says in a sentence what it shows."""


class Metadata(Model):
    """Kubernetes object metadata; only the name matters outside Kubernetes."""

    name: Annotated[str, Field(pattern=SUBDOMAIN, max_length=253)]
    namespace: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)

    @property
    def description(self) -> str:
        """What a file says of itself, for lists and reports; empty where it says nothing."""
        return self.annotations.get(DESCRIPTION, "")


class ChaosExperiment(Model):
    """The whole file."""

    api_version: Literal["highwater.dev/v1alpha1"]
    kind: Literal["ChaosExperiment"]
    metadata: Metadata
    spec: ExperimentSpec

    @property
    def cluster(self) -> Cluster:
        """The cluster to bring up; only for experiments whose cluster is not a reference."""
        assert self.spec.cluster is not None, "a clusterRef is refused, or resolved, before anything starts"
        return self.spec.cluster

    def with_seed_and_switches(self, seed: int | None, switches: dict[str, str]) -> ChaosExperiment:
        """A copy with another seed and some switches set otherwise, as the command line asks."""
        changed: dict[str, Any] = {"seed": self.spec.seed if seed is None else seed}
        if switches:
            changed["cluster"] = self.cluster.model_copy(update={"switches": {**self.cluster.switches, **switches}})
        return self._changed(changed)

    def with_versions(self, kafka: str | None, metadata_version: str | None) -> ChaosExperiment:
        """A copy that runs these; None: what the file says. The release of Apache Kafka is written down in any case."""
        if self.spec.cluster is None:
            return self
        changed = {"version": kafka or self.cluster.kafka, "metadata_version": metadata_version}
        changed = {name: value for name, value in changed.items() if value is not None}
        return self._changed({"cluster": self.cluster.model_copy(update=changed)}) if changed else self

    def _changed(self, changed: dict[str, Any]) -> ChaosExperiment:
        spec = self.spec.model_copy(update=changed)
        return self.model_copy(update={"spec": spec})


__all__ = [
    "API_VERSION",
    "REGISTER_TOPIC",
    "Assertion",
    "ChaosExperiment",
    "Cluster",
    "Expectation",
    "ExperimentSpec",
    "LoggedLine",
    "NodeIndex",
    "PrometheusServer",
]
