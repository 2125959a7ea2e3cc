"""The configuration file of ``highwater-node``: read, checked as a whole, and turned into values.

Names are Kafka's if Kafka has the property; ours begin with ``highwater.``. All errors of a file are reported at once,
each as ``file:line: property: expected …, found …``. An unknown name is an error (Kafka only warns), since
it is most often a known one misspelt; security properties are handed on to :mod:`~highwater_runtime.host.security`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

from highwater_runtime.config import ConfigError, NodeConfig
from highwater_runtime.host.config.properties import Property, read_properties
from highwater_runtime.host.config.values import (
    INT32_MAX,
    ReasonError,
    cluster_id_text,
    entries,
    http_endpoint,
    incarnation_of,
    integer,
    metadata_version,
    name_text,
    named_endpoints,
    one_directory,
    one_of,
    optional_text,
    path_value,
    servers_of,
    switches_of,
    voters_of,
)
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.logs import LogFormat
from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports import Endpoint
from highwater_runtime.switches import SwitchError, Switches

T = TypeVar("T")

Role = Literal["broker", "controller"]
SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SECURITY_PREFIXES: Final = ("ssl.", "sasl.", "listener.name.")
SECURITY_NAMES: Final = ("highwater.scram.bootstrap", "highwater.authentication.timeout.ms", "super.users")


@dataclass(frozen=True, slots=True)
class ListenerSetting:
    """One entry of ``listeners``: its name, security protocol, where to listen, and what to tell clients.

    Port 0 listens on any free port; ``advertised`` with port 0 stands for the port that was bound.
    """

    name: str
    protocol: str
    endpoint: Endpoint
    advertised: Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """The configuration of a node process."""

    role: Role
    node_id: int
    cluster_id: str
    voters: Mapping[int, Endpoint]
    """The controllers; none in ZooKeeper mode."""
    zookeepers: tuple[Endpoint, ...]
    """The servers of the ZooKeeper ensemble; none in KRaft mode."""
    listeners: tuple[ListenerSetting, ...]
    inter_broker_listener: str
    """Name of the listener that brokers use among themselves; of a controller, that of its first listener."""
    controller_listener: str
    """Name of the controllers' listener."""
    controller_protocol: str
    """Security protocol of the controllers' listeners."""
    log_dir: Path
    rack: str | None
    name: str
    incarnation: int
    seed: int
    switches: Switches
    bootstrap_version: MetadataVersion
    trace_path: Path | None
    control_path: Path | None
    ready_path: Path | None
    admin: Endpoint | None
    log_format: LogFormat
    event_loop: Literal["asyncio", "uvloop"]
    shutdown_timeout_s: float
    limits: ServerLimits
    config: NodeConfig
    security: Mapping[str, Property]
    """Properties of TLS and SASL, unread."""

    def listener(self, name: str) -> ListenerSetting:
        return next(listener for listener in self.listeners if listener.name == name)


def read_settings(path: Path) -> NodeSettings:
    """Read and check the configuration file at ``path``.

    Raises:
        ConfigError: with one line for each thing that is wrong.
    """
    reader = _Reader(path, read_properties(path))
    settings = _settings(reader)
    reader.refuse_unknown()
    if reader.problems:
        raise ConfigError("\n".join(reader.problems))
    return settings()


def host_properties() -> list[str]:
    """Names of all properties that the host reads itself, beside those of the cores and of security, sorted."""
    reader = _Reader(Path(), {})
    _settings(reader)
    return sorted(reader.asked_for - {field.metadata["property"] for field in fields(NodeConfig)})


class _Reader:
    """Takes properties out of a file, and gathers what is wrong with them."""

    def __init__(self, path: Path, properties: Mapping[str, Property]) -> None:
        self._path = path
        self._properties = properties
        self._asked_for: dict[str, None] = {}
        self.problems: list[str] = []

    def take(self, name: str, expected: str, parse: Callable[[str], T], default: T) -> T:
        """The value of ``name`` as ``parse`` understands it; a ValueError of it is a problem."""
        self._asked_for[name] = None
        found = self._properties.get(name)
        if found is None:
            return default
        try:
            return parse(found.value)
        except ValueError as error:
            self.wrong(name, expected, str(error) if isinstance(error, ReasonError | SwitchError) else "")
            return default

    def require(self, name: str, expected: str, parse: Callable[[str], T], stand_in: T) -> T:
        """As :meth:`take`, where the property must be given."""
        if name not in self._properties:
            self._asked_for[name] = None
            self.problems.append(f"{self._path}: property {name!r} is missing: expected {expected}")
            return stand_in
        return self.take(name, expected, parse, stand_in)

    def wrong(self, name: str, expected: str, why: str = "") -> None:
        """Note that a property has a wrong value."""
        found = self._properties[name]
        reason = f" ({why})" if why else ""
        self.problems.append(f"{found.where}: property {name!r}: expected {expected}, found {found.value!r}{reason}")

    @property
    def asked_for(self) -> set[str]:
        """Names that somebody wanted to know."""
        return set(self._asked_for)

    def has(self, name: str) -> bool:
        """Whether the property is given."""
        return name in self._properties

    def security(self) -> dict[str, Property]:
        """Properties that are not for us to read."""
        return {
            name: found
            for name, found in self._properties.items()
            if name.startswith(SECURITY_PREFIXES) or name in SECURITY_NAMES
        }

    def node_config(self) -> NodeConfig:
        """The properties that cores read."""
        known = [field.metadata["property"] for field in fields(NodeConfig)]
        given: dict[str, str] = {}
        for name in known:
            self._asked_for[name] = None
            if name in self._properties:
                found = self._properties[name]
                try:
                    NodeConfig.of({name: found.value})
                except ConfigError as error:
                    self.problems.append(f"{found.where}: {error}")
                else:
                    given[name] = found.value
        return NodeConfig.of(given)

    def refuse_unknown(self) -> None:
        """Every property that nobody has asked for is a problem."""
        known = [*self._asked_for, *SECURITY_NAMES]
        security = self.security()
        for name, found in self._properties.items():
            if name not in self._asked_for and name not in security:
                near = get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                self.problems.append(f"{found.where}: unknown property {name!r}{hint}")


def _settings(reader: _Reader) -> Callable[[], NodeSettings]:
    role = cast(Role, reader.require("process.roles", "broker or controller", one_of("broker", "controller"), "broker"))
    node_id = reader.require("node.id", *integer(0, INT32_MAX), 0)
    voters, zookeepers = _metadata_quorum(reader, role, node_id)
    protocols = _protocols(reader)
    listeners = _listeners(reader, role, protocols)
    inter_broker = _inter_broker_listener(reader, listeners)
    config = reader.node_config()
    log_dir = reader.require("log.dirs", "one directory", one_directory, Path())
    cluster_id = reader.require("cluster.id", "the cluster's id: 22 characters", cluster_id_text, "")
    controller_listener = _controller_listener(reader, protocols)
    settings = {
        "rack": reader.take("broker.rack", "a name", optional_text, None),
        "name": reader.take("highwater.node.name", "a name", name_text, f"{role}-{node_id}"),
        "incarnation": reader.take(
            "highwater.incarnation", "a whole number from 1, or clock", incarnation_of, incarnation_of("clock")
        ),
        "seed": reader.take("highwater.seed", *integer(0, 2**64 - 1), 0),
        "switches": reader.take("highwater.switches", "switch=value, separated by commas", switches_of, Switches()),
        "bootstrap_version": reader.take(
            "highwater.bootstrap.metadata.version",
            "a metadata.version as 3.6-IV0",
            metadata_version,
            MetadataVersion.latest(),
        ),
        "trace_path": reader.take("highwater.trace.path", "a file", path_value, None),
        "control_path": reader.take("highwater.control.path", "a path for a unix socket", path_value, None),
        "ready_path": reader.take("highwater.ready.path", "a file", path_value, None),
        "admin": reader.take("highwater.admin.listener", "http://host:port", http_endpoint, None),
        "log_format": reader.take("highwater.log.format", "text or json", one_of("text", "json"), "text"),
        "event_loop": reader.take("highwater.event.loop", "asyncio or uvloop", one_of("asyncio", "uvloop"), "asyncio"),
        "shutdown_timeout_s": reader.take("highwater.shutdown.timeout.ms", *integer(1, INT32_MAX), 60_000) / 1000,
        "limits": _limits(reader),
        "controller_listener": controller_listener,
        "controller_protocol": protocols.get(controller_listener, "PLAINTEXT"),
    }
    return lambda: NodeSettings(
        role=role,
        node_id=node_id,
        cluster_id=cluster_id,
        voters=voters,
        zookeepers=zookeepers,
        listeners=listeners,
        inter_broker_listener=inter_broker,
        log_dir=log_dir,
        config=config,
        security=reader.security(),
        **cast(Any, settings),
    )


def _metadata_quorum(reader: _Reader, role: Role, node_id: int) -> tuple[Mapping[int, Endpoint], tuple[Endpoint, ...]]:
    """Who keeps the metadata: controllers, or the servers of a ZooKeeper ensemble."""
    none: tuple[Endpoint, ...] = ()
    zookeepers = reader.take("zookeeper.connect", "host:port of every server, separated by commas", servers_of, none)
    expected, no_voters = "id@host:port of every controller, separated by commas", cast(dict[int, Endpoint], {})
    if reader.has("zookeeper.connect"):
        if role == "controller":
            reader.wrong("zookeeper.connect", "no such property of a controller", "in ZooKeeper mode brokers elect one")
        elif reader.has("controller.quorum.voters"):
            reader.wrong("zookeeper.connect", "nothing beside controller.quorum.voters: the mode is one or the other")
        return reader.take("controller.quorum.voters", expected, voters_of, no_voters), zookeepers
    if role == "broker":
        expected += ", or zookeeper.connect"
    voters = reader.require("controller.quorum.voters", expected, voters_of, no_voters)
    if role == "controller" and voters and node_id not in voters:
        reader.wrong("controller.quorum.voters", f"this controller's own id {node_id} among the voters")
    if role == "broker" and node_id in voters:
        reader.wrong("node.id", "an id that is none of the controllers'")
    return voters, zookeepers


def _limits(reader: _Reader) -> ServerLimits:
    default = ServerLimits()
    return ServerLimits(
        max_frame_bytes=reader.take("socket.request.max.bytes", *integer(1, INT32_MAX), default.max_frame_bytes),
        max_connections=reader.take("max.connections", *integer(1, INT32_MAX), default.max_connections),
        max_connections_per_ip=reader.take(
            "max.connections.per.ip", *integer(1, INT32_MAX), default.max_connections_per_ip
        ),
        max_queued_bytes=reader.take("queued.max.request.bytes", *integer(-1, 2**63 - 1), default.max_queued_bytes),
        max_queued_requests=reader.take(
            "highwater.max.in.flight.requests.per.connection", *integer(1, INT32_MAX), default.max_queued_requests
        ),
        max_idle_ms=reader.take("connections.max.idle.ms", *integer(-1, 2**63 - 1), default.max_idle_ms),
        write_buffer_bytes=reader.take(
            "highwater.connection.write.buffer.bytes", *integer(1, INT32_MAX), default.write_buffer_bytes
        ),
    )


# --- listeners -----------------------------------------------------------------------------------------------------


def _protocols(reader: _Reader) -> dict[str, str]:
    """Listener name → security protocol; those called like a protocol speak it."""
    default = {name: name for name in SECURITY_PROTOCOLS} | {"CONTROLLER": "PLAINTEXT"}

    def parse(text: str) -> dict[str, str]:
        return dict(pair for entry in entries(text) for pair in [_protocol_of(entry)])

    given = reader.take(
        "listener.security.protocol.map",
        f"NAME:PROTOCOL, separated by commas, with one of {', '.join(SECURITY_PROTOCOLS)}",
        parse,
        cast(dict[str, str], {}),
    )
    return default | given


def _protocol_of(entry: str) -> tuple[str, str]:
    name, _, protocol = entry.partition(":")
    if protocol.upper() not in SECURITY_PROTOCOLS or not name:
        raise ReasonError(f"{entry!r} is not of that form")
    return name.upper(), protocol.upper()


def _listeners(reader: _Reader, role: Role, protocols: Mapping[str, str]) -> tuple[ListenerSetting, ...]:
    expected = "NAME://host:port, separated by commas; port 0 for any free one"
    endpoints = reader.require("listeners", expected, named_endpoints, {"PLAINTEXT": Endpoint("127.0.0.1", 0)})
    advertised = reader.take("advertised.listeners", expected, named_endpoints, cast(dict[str, Endpoint], {}))
    for name in endpoints:
        if name not in protocols:
            reader.wrong("listeners", "names from listener.security.protocol.map, or protocols", f"{name} is neither")
    for name in advertised:
        if name not in endpoints:
            reader.wrong("advertised.listeners", "names that are among the listeners", f"{name} is not")
    settings = []
    for name, endpoint in endpoints.items():
        reached_at = advertised.get(name, endpoint)
        if reached_at.host in ("", "0.0.0.0", "::") and role == "broker":  # noqa: S104
            if name in advertised:
                reader.wrong("advertised.listeners", "addresses that clients can reach", f"{reached_at} is none")
            elif reader.has("listeners"):
                expected = "an address that clients can reach, or advertised.listeners beside it"
                reader.wrong("listeners", expected, f"{reached_at} is none")
        settings.append(ListenerSetting(name, protocols.get(name, "PLAINTEXT"), endpoint, reached_at))
    return tuple(settings)


def _inter_broker_listener(reader: _Reader, listeners: tuple[ListenerSetting, ...]) -> str:
    name = reader.take("inter.broker.listener.name", "the name of a listener", str.upper, None)
    protocol = reader.take(
        "security.inter.broker.protocol",
        f"one of {', '.join(SECURITY_PROTOCOLS)}",
        one_of(*SECURITY_PROTOCOLS),
        cast(str | None, None),
    )
    if name is not None:
        if protocol is not None:
            reader.wrong("security.inter.broker.protocol", "nothing beside inter.broker.listener.name")
        if all(listener.name != name for listener in listeners):
            reader.wrong("inter.broker.listener.name", "the name of one of the listeners")
            return listeners[0].name
        return name
    if protocol is not None:
        for listener in listeners:
            if listener.protocol == protocol:
                return listener.name
        reader.wrong("security.inter.broker.protocol", "the protocol of one of the listeners")
    return listeners[0].name


def _controller_listener(reader: _Reader, protocols: Mapping[str, str]) -> str:
    names = reader.take("controller.listener.names", "names of listeners", entries, ["CONTROLLER"])
    name = names[0].upper() if names else "CONTROLLER"
    if name not in protocols:
        reader.wrong("controller.listener.names", "names from listener.security.protocol.map, or protocols")
    return name
