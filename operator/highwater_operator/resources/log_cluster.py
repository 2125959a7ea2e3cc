"""``LogCluster`` (``lc``): a cluster of brokers, and of controllers or ZooKeeper servers, that the operator keeps as it
is described.

The description is the experiment file's ``spec.cluster``, and what a cluster on Kubernetes needs besides.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from highwater_chaos.experiment.base import Model
from highwater_chaos.experiment.model import Cluster
from highwater_operator.resources.conditions import Condition

_QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"
_LONGEST_QUANTITY = 20


def _quantity(found: Any) -> Any:
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else found


Quantity = Annotated[
    str,
    BeforeValidator(_quantity),
    Field(pattern=_QUANTITY, max_length=_LONGEST_QUANTITY),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _QUANTITY, "maxLength": _LONGEST_QUANTITY},
                {"type": "integer", "minimum": 0},
            ]
        }
    ),
]
"""A Kubernetes quantity: ``500m``, ``1Gi``, or a bare figure, as everywhere in Kubernetes."""


class Storage(Model):
    """Where a node keeps its data. A ``crashable`` volume is a small file system of its own, made by the node agent,
    so that power loss and disk faults are possible; otherwise each node has a PersistentVolumeClaim."""

    size: Annotated[Quantity, Field(description="Capacity of each node's volume, a quantity such as 1Gi.")] = "1Gi"
    class_name: Annotated[
        str | None, Field(max_length=253, description="StorageClass of the claims; absent: the default one.")
    ] = None
    when_deleted: Annotated[
        Literal["Delete", "Retain"],
        Field(
            description="What becomes of the claims, or crashable volumes, when the LogCluster is deleted; "
            "no other cluster can use them."
        ),
    ] = "Delete"
    crashable: Annotated[
        bool, Field(description="Volumes that the node agent can take the power from; needs the agent.")
    ] = False


class Compute(Model):
    """Requests and limits of each node's container."""

    cpu: Annotated[Quantity, Field(description="Request of processor time, a quantity such as 500m.")] = "100m"
    memory: Annotated[
        Quantity | None,
        Field(
            description="Request and limit of memory, a quantity such as 512Mi; absent: 256Mi, and 640Mi with runtime"
            " apache-kafka."
        ),
    ] = None


_Labels = dict[str, Annotated[str, Field(max_length=63)]]


class Labels(Model):
    """What has all these labels."""

    match_labels: Annotated[_Labels, Field(max_length=20, description="Labels and their values.", default_factory=dict)]


class IpBlock(Model):
    """A range of addresses."""

    cidr: Annotated[str, Field(max_length=64, description="The range: 10.0.0.0/8.")]


class Peer(Model):
    """Pods or addresses, as in a NetworkPolicy."""

    pod_selector: Annotated[
        Labels | None, Field(description="Pods with these labels: of the LogCluster's namespace, or of those selected.")
    ] = None
    namespace_selector: Annotated[Labels | None, Field(description="Namespaces with these labels; none: all.")] = None
    ip_block: Annotated[IpBlock | None, Field(description="Addresses outside the cluster; not with selectors.")] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        selectors = self.pod_selector is not None or self.namespace_selector is not None
        if selectors == (self.ip_block is not None):
            raise ValueError("expected podSelector, namespaceSelector, or both; or ipBlock")
        return self


class Security(Model):
    """TLS everywhere: between nodes with a certificate for each (mutual TLS), and with SASL for clients."""

    mechanism: Annotated[
        Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"],
        Field(description="SASL mechanism of clients; Apache Kafka before 3.5 has PLAIN only."),
    ] = "SCRAM-SHA-512"
    network_policy_peers: Annotated[
        list[Peer] | None,
        Field(
            max_length=50,
            description="Who may connect to the clients' listener, beside operator and runners; absent: all pods of"
            " the LogCluster's namespace; empty: nobody else.",
        ),
    ] = None


class LogClusterSpec(Cluster):
    """The cluster as it should be."""

    image: Annotated[
        str | None,
        Field(max_length=500, description="Image of every broker and controller; absent: the operator's default."),
    ] = None
    zookeeper_image: Annotated[
        str | None,
        Field(max_length=500, description="Image of every ZooKeeper server; absent: the operator's default."),
    ] = None
    image_pull_policy: Annotated[
        Literal["Always", "IfNotPresent", "Never"], Field(description="When the kubelet pulls the image.")
    ] = "IfNotPresent"
    storage: Annotated[Storage, Field(description="Where nodes keep their data.")] = Storage()
    resources: Annotated[Compute, Field(description="What each node's container gets.")] = Compute()
    security: Annotated[
        Security | None, Field(description="TLS, and SASL for clients; absent: everything is PLAINTEXT.")
    ] = None


class VolumePlace(Model):
    """Where the crashable volume of one pod is."""

    pod: Annotated[str, Field(max_length=253, description="The pod's name.")]
    node: Annotated[str, Field(max_length=253, description="The node of its pods; empty: none yet.")] = ""
    used: Annotated[bool, Field(description="Whether a pod has been ready with it.")] = False
    replaced: Annotated[int, Field(ge=0, description="How many volumes before it were given up.")] = 0
    abandoned: Annotated[
        str, Field(max_length=4096, description="The annotation by which the last one was given up.")
    ] = ""


class LogClusterStatus(Model):
    """The cluster as it is."""

    observed_generation: Annotated[int, Field(ge=0, description="The generation that this status is about.")] = 0
    phase: Annotated[
        str, Field(max_length=40, description="The state in one word, for people; programs read conditions.")
    ] = ""
    bootstrap: Annotated[
        str,
        Field(
            max_length=253, description="Address for Kafka clients inside Kubernetes: demo-bootstrap.default.svc:9092."
        ),
    ] = ""
    client_secret: Annotated[
        str,
        Field(
            max_length=253,
            description="Secret with client.properties, for clients of a cluster with spec.security; empty: none.",
        ),
    ] = ""
    certificates_end: Annotated[
        str, Field(max_length=40, description="When the first certificate of a node ends; renewed long before.")
    ] = ""
    brokers_ready: Annotated[str, Field(max_length=20, description="Ready brokers of wanted ones: 3/3.")] = ""
    replicas: Annotated[int, Field(ge=0, description="Brokers whose pods exist, for `kubectl scale`.")] = 0
    selector: Annotated[
        str, Field(max_length=400, description="Labels of the brokers' pods, for `kubectl scale` and autoscalers.")
    ] = ""
    controllers_ready: Annotated[str, Field(max_length=20, description="Ready controllers of wanted ones: 3/3.")] = ""
    zookeepers_ready: Annotated[
        str, Field(max_length=20, description="ZooKeeper servers that serve of wanted ones: 3/3.")
    ] = ""
    active_controller: Annotated[
        int | None,
        Field(
            description="Node id of the active controller, 1000 and up, in mode zookeeper that of a broker; absent:"
            " none is known."
        ),
    ] = None
    under_replicated_partitions: Annotated[
        int | None, Field(description="Partitions whose ISR is smaller than their replicas; absent: not known.")
    ] = None
    experiment: Annotated[
        str, Field(max_length=300, description="Name and uid of the ChaosExperiment that holds it; empty: none does.")
    ] = ""
    stateful_sets: Annotated[
        list[Annotated[str, Field(max_length=300)]],
        Field(
            max_length=4,
            description="Name and uid of each StatefulSet that the operator has made: agents touch their pods, and no"
            " others of a namespace that has not opted in.",
            default_factory=list,
        ),
    ]
    volumes: Annotated[
        list[VolumePlace],
        Field(max_length=1000, description="Where crashable volumes are, by pod.", default_factory=list),
    ]
    conditions: Annotated[
        list[Condition],
        Field(
            max_length=16,
            description="Ready, Progressing, Degraded; Held while an experiment borrows it; DisksKept of crashable"
            " storage.",
            default_factory=list,
        ),
    ]


class LogCluster(Model):
    """A cluster of brokers of a replicated log, and of what keeps its metadata."""

    api_version: Literal["highwater.dev/v1alpha1"] = "highwater.dev/v1alpha1"
    kind: Literal["LogCluster"] = "LogCluster"
    metadata: dict[str, Any]
    spec: Annotated[LogClusterSpec, Field(description="The cluster as it should be.")]
    status: Annotated[LogClusterStatus, Field(description="The cluster as it is.")] = LogClusterStatus(
        conditions=[], stateful_sets=[], volumes=[]
    )
