"""The configuration file of ``highwater-node``: read, checked as a whole, and turned into values.

Names are Kafka's where Kafka has the thing; ours begin with ``highwater.``. Everything wrong with a file is told at
once, each time as ``file:line: property: expected …, found …``. An unknown name is an error (Kafka only warns), since
it is most often a known one misspelt; security properties are handed on to :mod:`.security`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

from highwater_runtime.config import ConfigError, NodeConfig
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.logs import LogFormat
from highwater_runtime.host.properties import Property, read_properties
from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports import Endpoint
from highwater_runtime.switches import SwitchError, Switches

T = TypeVar("T")

Role = Literal["broker", "controller"]
SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SECURITY_PREFIXES: Final = ("ssl.", "sasl.", "listener.name.")
SECURITY_NAMES: Final = ("highwater.scram.bootstrap", "highwater.authentication.timeout.ms")
_INT32_MAX: Final = 2**31 - 1
_ADDRESS: Final = re.compile(r"(?:([A-Za-z0-9_.-]+)://)?(\[[0-9a-fA-F:.]+\]|[^:\[\]/@]*):(\d+)")


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
    """Everything that a node process is told."""

    role: Role
    node_id: int
    cluster_id: str
    voters: Mapping[int, Endpoint]
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
        """The listener called ``name``."""
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
            self.wrong(name, expected, str(error) if isinstance(error, _ReasonError | SwitchError) else "")
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


class _ReasonError(ValueError):
    """A value that is wrong for a reason worth telling."""


def _settings(reader: _Reader) -> Callable[[], NodeSettings]:
    role = cast(
        Role, reader.require("process.roles", "broker or controller", _one_of("broker", "controller"), "broker")
    )
    node_id = reader.require("node.id", *_integer(0, _INT32_MAX), 0)
    none: dict[int, Endpoint] = {}
    voters = reader.require(
        "controller.quorum.voters", "id@host:port of every controller, separated by commas", _voters, none
    )
    if role == "controller" and voters and node_id not in voters:
        reader.wrong("controller.quorum.voters", f"this controller's own id {node_id} among the voters")
    if role == "broker" and node_id in voters:
        reader.wrong("node.id", "an id that is none of the controllers'")
    protocols = _protocols(reader)
    listeners = _listeners(reader, role, protocols)
    inter_broker = _inter_broker_listener(reader, listeners)
    config = reader.node_config()
    log_dir = reader.require("log.dirs", "one directory", _one_directory, Path())
    cluster_id = reader.require("cluster.id", "the cluster's id: 22 characters", _cluster_id, "")
    controller_listener = _controller_listener(reader, protocols)
    settings = {
        "rack": reader.take("broker.rack", "a name", _text, None),
        "name": reader.take("highwater.node.name", "a name", _name, f"{role}-{node_id}"),
        "incarnation": reader.take("highwater.incarnation", *_integer(1, 2**63 - 1), 1),
        "seed": reader.take("highwater.seed", *_integer(0, 2**64 - 1), 0),
        "switches": reader.take("highwater.switches", "switch=value, separated by commas", _switches, Switches()),
        "bootstrap_version": reader.take(
            "highwater.bootstrap.metadata.version",
            "a metadata.version as 3.6-IV0",
            _metadata_version,
            MetadataVersion.latest(),
        ),
        "trace_path": reader.take("highwater.trace.path", "a file", _path, None),
        "control_path": reader.take("highwater.control.path", "a path for a unix socket", _path, None),
        "ready_path": reader.take("highwater.ready.path", "a file", _path, None),
        "admin": reader.take("highwater.admin.listener", "http://host:port", _http, None),
        "log_format": reader.take("highwater.log.format", "text or json", _one_of("text", "json"), "text"),
        "event_loop": reader.take("highwater.event.loop", "asyncio or uvloop", _one_of("asyncio", "uvloop"), "asyncio"),
        "shutdown_timeout_s": reader.take("highwater.shutdown.timeout.ms", *_integer(1, _INT32_MAX), 60_000) / 1000,
        "limits": _limits(reader),
        "controller_listener": controller_listener,
        "controller_protocol": protocols.get(controller_listener, "PLAINTEXT"),
    }
    return lambda: NodeSettings(
        role=role,
        node_id=node_id,
        cluster_id=cluster_id,
        voters=voters,
        listeners=listeners,
        inter_broker_listener=inter_broker,
        log_dir=log_dir,
        config=config,
        security=reader.security(),
        **cast(Any, settings),
    )


def _limits(reader: _Reader) -> ServerLimits:
    default = ServerLimits()
    return ServerLimits(
        max_frame_bytes=reader.take("socket.request.max.bytes", *_integer(1, _INT32_MAX), default.max_frame_bytes),
        max_connections=reader.take("max.connections", *_integer(1, _INT32_MAX), default.max_connections),
        max_connections_per_ip=reader.take(
            "max.connections.per.ip", *_integer(1, _INT32_MAX), default.max_connections_per_ip
        ),
        max_queued_bytes=reader.take("queued.max.request.bytes", *_integer(-1, 2**63 - 1), default.max_queued_bytes),
        max_queued_requests=reader.take(
            "highwater.max.in.flight.requests.per.connection", *_integer(1, _INT32_MAX), default.max_queued_requests
        ),
        max_idle_ms=reader.take("connections.max.idle.ms", *_integer(-1, 2**63 - 1), default.max_idle_ms),
        write_buffer_bytes=reader.take(
            "highwater.connection.write.buffer.bytes", *_integer(1, _INT32_MAX), default.write_buffer_bytes
        ),
    )


# --- listeners -----------------------------------------------------------------------------------------------------


def _protocols(reader: _Reader) -> dict[str, str]:
    """Listener name → security protocol; those called like a protocol speak it."""
    default = {name: name for name in SECURITY_PROTOCOLS} | {"CONTROLLER": "PLAINTEXT"}

    def parse(text: str) -> dict[str, str]:
        return dict(pair for entry in _entries(text) for pair in [_protocol_of(entry)])

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
        raise _ReasonError(f"{entry!r} is not of that form")
    return name.upper(), protocol.upper()


def _listeners(reader: _Reader, role: Role, protocols: Mapping[str, str]) -> tuple[ListenerSetting, ...]:
    expected = "NAME://host:port, separated by commas; port 0 for any free one"
    endpoints = reader.require("listeners", expected, _named_endpoints, {"PLAINTEXT": Endpoint("127.0.0.1", 0)})
    advertised = reader.take("advertised.listeners", expected, _named_endpoints, cast(dict[str, Endpoint], {}))
    for name in endpoints:
        if name not in protocols:
            reader.wrong("listeners", "names from listener.security.protocol.map, or protocols", f"{name} is neither")
    for name in advertised:
        if name not in endpoints:
            reader.wrong("advertised.listeners", "names that are among the listeners", f"{name} is not")
    settings = []
    for name, endpoint in endpoints.items():
        told = advertised.get(name, endpoint)
        if told.host in ("", "0.0.0.0", "::") and role == "broker":  # noqa: S104
            if name in advertised:
                reader.wrong("advertised.listeners", "addresses that clients can reach", f"{told} is none")
            elif reader.has("listeners"):
                expected = "an address that clients can reach, or advertised.listeners beside it"
                reader.wrong("listeners", expected, f"{told} is none")
        settings.append(ListenerSetting(name, protocols.get(name, "PLAINTEXT"), endpoint, told))
    return tuple(settings)


def _inter_broker_listener(reader: _Reader, listeners: tuple[ListenerSetting, ...]) -> str:
    name = reader.take("inter.broker.listener.name", "the name of a listener", str.upper, None)
    protocol = reader.take(
        "security.inter.broker.protocol",
        f"one of {', '.join(SECURITY_PROTOCOLS)}",
        _one_of(*SECURITY_PROTOCOLS),
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
    names = reader.take("controller.listener.names", "names of listeners", _entries, ["CONTROLLER"])
    name = names[0].upper() if names else "CONTROLLER"
    if name not in protocols:
        reader.wrong("controller.listener.names", "names from listener.security.protocol.map, or protocols")
    return name


# --- values --------------------------------------------------------------------------------------------------------


def _entries(text: str) -> list[str]:
    return [entry for part in text.split(",") if (entry := part.strip())]


def _name(text: str) -> str:
    if not text:
        raise _ReasonError("it is empty")
    return text


def _text(text: str) -> str | None:
    return _name(text)


def _path(text: str) -> Path | None:
    return Path(_name(text))


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return parse


def _integer(least: int, most: int) -> tuple[str, Callable[[str], int]]:
    def parse(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return f"a whole number between {least} and {most}", parse


def _address(text: str) -> tuple[str | None, Endpoint]:
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise _ReasonError(f"{text!r} is not of that form")
    port = int(match[3])
    if port > 65535:
        raise _ReasonError(f"there is no port {port}")
    return match[1], Endpoint(match[2].strip("[]"), port)


def _named_endpoints(text: str) -> dict[str, Endpoint]:
    found: dict[str, Endpoint] = {}
    for entry in _entries(text):
        name, endpoint = _address(entry)
        if name is None:
            raise _ReasonError(f"{entry!r} has no name")
        if name.upper() in found:
            raise _ReasonError(f"{name} comes twice")
        found[name.upper()] = endpoint
    if not found:
        raise _ReasonError("there is none")
    return found


def _voters(text: str) -> dict[int, Endpoint]:
    found: dict[int, Endpoint] = {}
    for entry in _entries(text):
        node, at, address = entry.partition("@")
        if not at or not node.isdigit():
            raise _ReasonError(f"{entry!r} is not of that form")
        _, endpoint = _address(address)
        if not endpoint.host or not endpoint.port:
            raise _ReasonError(f"{entry!r} must name a host and a port")
        if int(node) in found:
            raise _ReasonError(f"id {node} comes twice")
        found[int(node)] = endpoint
    if not found:
        raise _ReasonError("there is none")
    return found


def _one_directory(text: str) -> Path:
    directories = _entries(text)
    if len(directories) != 1:
        raise _ReasonError("several directories are not supported" if directories else "there is none")
    return Path(directories[0])


def _cluster_id(text: str) -> str:
    if len(text) != 22 or not re.fullmatch(r"[A-Za-z0-9_-]+", text):
        raise _ReasonError(f"it has {len(text)} characters" if len(text) != 22 else "only letters, digits, - and _")
    return text


def _switches(text: str) -> Switches:
    pairs: dict[str, str] = {}
    for entry in _entries(text):
        name, separator, value = entry.partition("=")
        if not separator:
            raise _ReasonError(f"{entry!r} has no value")
        pairs[name.strip()] = value.strip()
    return Switches.of(pairs)


def _metadata_version(text: str) -> MetadataVersion:
    try:
        return MetadataVersion.of(text)
    except ValueError as error:
        raise _ReasonError(str(error)) from error


def _http(text: str) -> Endpoint | None:
    scheme, endpoint = _address(text)
    if scheme != "http":
        raise _ReasonError("only http is served")
    return endpoint
