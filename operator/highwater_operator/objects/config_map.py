"""The nodes' configuration: one file a pod, in one ConfigMap a role; with ``spec.security`` in one Secret a role.

A pod finds its own by its name, so that no script has to run before the node: the container's argument is
``/etc/highwater/$(POD_NAME).properties``, and ``$(POD_NAME).cfg`` of a ZooKeeper server.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from highwater_chaos.apache_kafka import node_config as apache_kafka
from highwater_chaos.apache_kafka.versions import release_parts
from highwater_chaos.backends.ensemble.servers import SYNC_TICKS, tick_ms
from highwater_chaos.backends.local.properties import render_properties
from highwater_chaos.experiment.timeouts import timeouts
from highwater_chaos.kube.cluster_id import cluster_id_of
from highwater_operator.objects.naming import (
    ADMIN_PORT,
    CLIENT_PORT,
    CONTROLLER_PORT,
    ELECTION_PORT,
    QUORUM_PORT,
    ZOOKEEPER_PORT,
    Owner,
    Role,
    host_of,
    metadata_of,
    node_id,
    pod_name,
    replicas_of,
    set_name,
)
from highwater_operator.objects.security import files_secret, node_security
from highwater_operator.zookeeper.four_letter_words import COMMANDS
from highwater_operator.zookeeper.identity import zookeeper_id
from highwater_runtime.metadata.metadata_version import MetadataVersion
from highwater_runtime.ports import Endpoint

DATA_PATH = "/var/lib/highwater/data"
EVENTS_PATH = "/var/lib/highwater/events"
EVENTS_FILE = f"{EVENTS_PATH}/events.jsonl"
CONTROL_PATH = "/run/highwater"
EVENTS_VOLUME = "events"
CONTROL_VOLUME = "control"
HOLD_FILES = f"{CONTROL_PATH}/hold-"
"""While there are files whose paths begin so, the node does not begin."""
VOLUME_PATH = "/var/lib/highwater/volume"
"""An empty directory in the pod, on which the agent of its machine mounts the pod's crashable volume."""

RESERVED: Final = frozenset(
    {
        "advertised.listeners",
        "cluster.id",
        "controller.listener.names",
        "controller.quorum.voters",
        "highwater.admin.listener",
        "highwater.bootstrap.metadata.version",
        "highwater.control.path",
        "highwater.incarnation",
        "highwater.log.format",
        "highwater.node.name",
        "highwater.ready.path",
        "highwater.switches",
        "highwater.trace.path",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "log.dirs",
        "node.id",
        "process.roles",
        "security.inter.broker.protocol",
        "zookeeper.connect",
    }
)
"""Properties that say where a node is and who: a resource cannot set them."""

_ONE_POD_S: Final = (
    "advertised.listeners",
    "broker.id",
    "highwater.node.name",
    "log.dirs",
    "node.id",
    "ssl.keystore.location",
)
_BY_BROKERS: Final = ("default.replication.factor", "offsets.topic.replication.factor")
_USUAL_REPLICAS: Final = 3
_BEHIND_PROXY: Final = 10_000
"""Added to the port of a node of Apache Kafka, where the pod's proxy reaches it."""

_TRUSTS_ITS_LOG: Final[dict[str, bool]] = {"snapshot.trust.empty": True}
_PURGES_ITS_LOG: Final = {"autopurge.snapRetainCount": 3, "autopurge.purgeInterval": 1}
_JOINS_WITHIN_MS: Final = 20_000
"""How long a server may take to load what it lacks."""


def config_map(owner: Owner, role: Role) -> dict[str, Any]:
    """All files of one role; a Secret, if there are secrets in them."""
    files = {
        f"{pod_name(owner, role, index)}.{file_suffix(role)}": _file(owner, role, index)
        for index in range(replicas_of(owner, role))
    }
    if owner.spec.security is not None:
        return files_secret(owner, role, files)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata_of(owner, set_name(owner, role), role),
        "data": files,
    }


def file_suffix(role: Role) -> str:
    """What the names of a role's files end with."""
    return "cfg" if role == "zookeeper" else "properties"


def _file(owner: Owner, role: Role, index: int) -> str:
    return zoo_cfg(owner) if role == "zookeeper" else render_properties(node_properties(owner, role, index))


def config_hash(owner: Owner, role: Role) -> str:
    """Changes when a running node of this role would have to be restarted to follow its configuration.

    How many brokers there are is not among that: a new one must not restart the others. (What follows from their number
    where the resource does not say it, a node takes up when it is started next.)
    """
    if role == "zookeeper":
        return _digest(zoo_cfg(owner))
    if owner.spec.kafka is not None:
        owner = owner._replace(spec=owner.spec.model_copy(update={"brokers": _USUAL_REPLICAS}))
    ignored = {*_ONE_POD_S, *(name for name in _BY_BROKERS if name not in owner.spec.config)}
    first = {name: value for name, value in node_properties(owner, role, 0).items() if name not in ignored}
    return _digest(json.dumps(first, sort_keys=True))


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def zoo_cfg(owner: Owner) -> str:
    """The configuration of one ZooKeeper server, in ZooKeeper's own format.

    Servers listen on all addresses: a pod may not know its own name when it starts. On a disk that can lose power a
    server may trust a log without a snapshot (see :mod:`highwater_chaos.backends.ensemble.servers`), so there no log is
    purged.
    """
    tick = tick_ms(timeouts(owner.spec).zookeeper_session_timeout_ms)
    servers = {
        f"server.{zookeeper_id(number)}": f"{host_of(owner, 'zookeeper', number)}:{QUORUM_PORT}:{ELECTION_PORT}"
        for number in range(owner.spec.zookeepers)
    }
    settings: dict[str, str | int | bool] = {
        "tickTime": tick,
        "initLimit": max(SYNC_TICKS, -(-_JOINS_WITHIN_MS // tick)),
        "syncLimit": SYNC_TICKS,
        "dataDir": data_path(owner),
        "clientPort": ZOOKEEPER_PORT,
        "maxClientCnxns": 0,
        **(_TRUSTS_ITS_LOG if owner.spec.storage.crashable else _PURGES_ITS_LOG),
        "4lw.commands.whitelist": ",".join(COMMANDS),
        "admin.enableServer": False,
        "standaloneEnabled": False,
        "reconfigEnabled": False,
        "quorumListenOnAllIPs": True,
        **servers,
    }
    return render_properties(settings)


def zookeeper_connect(owner: Owner) -> str:
    """Where clients of the ensemble connect to."""
    return ",".join(
        f"{host_of(owner, 'zookeeper', number)}:{ZOOKEEPER_PORT}" for number in range(owner.spec.zookeepers)
    )


def node_properties(owner: Owner, role: Role, index: int) -> dict[str, str | int | bool]:
    """The properties of one pod's node."""
    spec = owner.spec
    if spec.kafka is not None:
        return _apache_kafka_properties(owner, role, index)
    port = CLIENT_PORT if role == "broker" else CONTROLLER_PORT
    properties: dict[str, str | int | bool] = {
        "process.roles": role,
        "node.id": node_id(role, index),
        "cluster.id": cluster_id_of(owner.uid),
        **_metadata_quorum(owner),
        "listeners": f"PLAINTEXT://0.0.0.0:{port}",
        "log.dirs": data_path(owner),
        **dict.fromkeys(_BY_BROKERS, min(_USUAL_REPLICAS, spec.brokers)),
        **spec.config,
        "highwater.node.name": f"{role}-{index}",
        "highwater.incarnation": "clock",  # there is no count of a container's starts
        "highwater.trace.path": EVENTS_FILE,
        "highwater.control.path": f"{CONTROL_PATH}/control.sock",
        "highwater.admin.listener": f"http://0.0.0.0:{ADMIN_PORT}",
        "highwater.log.format": "json",
    }
    if spec.switches:
        properties["highwater.switches"] = ",".join(f"{name}={value}" for name, value in sorted(spec.switches.items()))
    if role == "broker":
        properties["advertised.listeners"] = f"PLAINTEXT://{host_of(owner, role, index)}:{port}"
    properties |= node_security(owner, role, index)
    if role == "controller":
        asked = spec.metadata_version
        version = MetadataVersion.latest() if asked is None else MetadataVersion.of(asked)
        properties["highwater.bootstrap.metadata.version"] = version.version
    return properties


def _apache_kafka_properties(owner: Owner, role: Role, index: int) -> dict[str, str | int | bool]:
    spec = owner.spec
    port = CLIENT_PORT if role == "broker" else CONTROLLER_PORT
    assert spec.kafka is not None
    bind, advertised = Endpoint("127.0.0.1", port + _BEHIND_PROXY), Endpoint(host_of(owner, role, index), port)
    if spec.mode == "zookeeper":
        return apache_kafka.zookeeper_mode_properties(
            node_id=node_id(role, index),
            bind=bind,
            advertised=advertised,
            servers=[Endpoint(host_of(owner, "zookeeper", n), ZOOKEEPER_PORT) for n in range(spec.zookeepers)],
            data=Path(data_path(owner)),
            brokers=spec.brokers,
            config=spec.config,
        )
    plain = apache_kafka.node_properties(
        role="broker" if role == "broker" else "controller",
        node_id=node_id(role, index),
        bind=bind,
        advertised=advertised,
        names_controllers=release_parts(spec.kafka) >= apache_kafka.CONTROLLERS_ADVERTISE,
        voters=[
            (node_id("controller", number), Endpoint(host_of(owner, "controller", number), CONTROLLER_PORT))
            for number in range(spec.controllers)
        ],
        data=Path(data_path(owner)),
        brokers=spec.brokers,
        config=spec.config,
    )
    return {**plain, **node_security(owner, role, index)}


def _metadata_quorum(owner: Owner) -> dict[str, str]:
    if owner.spec.mode == "zookeeper":
        return {"zookeeper.connect": zookeeper_connect(owner)}
    voters = (
        f"{node_id('controller', number)}@{host_of(owner, 'controller', number)}:{CONTROLLER_PORT}"
        for number in range(owner.spec.controllers)
    )
    return {"controller.quorum.voters": ",".join(voters)}


def data_path(owner: Owner) -> str:
    """Where a pod's node keeps its data: the same place in each, and another disk behind it.

    On a crashable volume in a folder of it: the root of a file system that was just made is not empty.
    """
    if owner.spec.storage.crashable:
        return f"{VOLUME_PATH}/data"
    return DATA_PATH
