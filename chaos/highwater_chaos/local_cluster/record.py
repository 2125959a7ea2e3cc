"""What is written down about a cluster, so that later commands find it: shape, addresses, processes.

``cluster.json`` lies in the cluster's directory, beside a directory for each node (``data``, config, log). Where that
directory is not the usual one, a small file under the usual name says where it is. Usual is
``$XDG_DATA_HOME/highwater/clusters`` (``~/.local/share/…``).

A record says which processes are ended and what is run, so none is obeyed that another user may have written.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from highwater_chaos.backends.local.layout import LOOPBACK
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.ownership import check_kept
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_runtime.ports import Endpoint

_RECORD: Final = "cluster.json"
_LOCK: Final = "lock"

Role = Literal["broker", "controller", "zookeeper"]
Mode = Literal["kraft", "zookeeper"]


class NodeProcess(msgspec.Struct, frozen=True):
    """The last process of a node: pid and start time in one boot of the machine, so that no other is taken for it."""

    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, identity: Identity) -> NodeProcess:
        return cls(identity.pid, identity.started, boot_id())

    def identity(self) -> Identity | None:
        """The process, if it lives."""
        identity = Identity(self.pid, self.started)
        return identity if self.boot == boot_id() and identity.state() != "gone" else None


class NodeRecord(msgspec.Struct, frozen=True):
    """One node. ``incarnation``: how often it was started."""

    name: str
    role: Role
    node_id: int
    port: int
    incarnation: int = 0
    process: NodeProcess | None = None
    peer_ports: tuple[int, ...] = ()
    """Of a ZooKeeper server: for learners, and for elections."""

    @property
    def endpoint(self) -> Endpoint:
        """Return the address on which the node listens."""
        return Endpoint(LOOPBACK, self.port)


class ClusterRecord(msgspec.Struct, frozen=True):
    """One cluster; ``directory`` is where all of it lies."""

    name: str
    directory: str
    cluster_id: str
    nodes: tuple[NodeRecord, ...]
    config: dict[str, str]
    mode: Mode = "kraft"

    @property
    def quorum_role(self) -> Role:
        """Return the role of the nodes that keep the metadata."""
        return "zookeeper" if self.mode == "zookeeper" else "controller"

    def of_role(self, role: Role) -> list[NodeRecord]:
        """Nodes of one role, by id."""
        return [node for node in self.nodes if node.role == role]

    @property
    def path(self) -> Path:
        return Path(self.directory)

    def node_path(self, node: NodeRecord) -> Path:
        """Where a node's data, config and log lie."""
        return self.path / node.name

    def log_path(self, node: NodeRecord) -> Path:
        """Return the path of a node's log file."""
        return self.node_path(node) / "node.log"

    def ready_path(self, node: NodeRecord) -> Path:
        """What a node writes once it listens."""
        return self.node_path(node) / "ready.json"

    def bootstrap(self) -> str:
        """``127.0.0.1:9092,…``."""
        return ",".join(str(node.endpoint) for node in self.of_role("broker"))

    def living(self) -> list[tuple[NodeRecord, Identity]]:
        """Nodes whose process lives."""
        found = [(node, node.process.identity()) for node in self.nodes if node.process is not None]
        return [(node, identity) for node, identity in found if identity is not None]

    def save(self) -> None:
        """Write it down, whole or not at all."""
        part = self.path / f"{_RECORD}.part"
        part.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")
        part.rename(self.path / _RECORD)


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """Where clusters are by default."""
    data = environment.get("XDG_DATA_HOME")
    base = Path(data) if data else Path("~/.local/share").expanduser()
    return base / "highwater" / "clusters"


def directory_of(name: str) -> Path:
    """Where the cluster of this name is, or would be."""
    pointer = home() / f"{name}.json"
    _ensure_own(pointer)
    try:
        return Path(str(msgspec.json.decode(pointer.read_bytes())["directory"]))
    except FileNotFoundError:
        return home() / name
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise LocalClusterError(f"{pointer}: expected where cluster {name} lies, found: {error}") from error


def point_to(name: str, directory: Path) -> None:
    """Remember that a cluster lies elsewhere than usual."""
    home().mkdir(parents=True, exist_ok=True)
    pointer = home() / f"{name}.json"
    if directory == home() / name:
        pointer.unlink(missing_ok=True)
    else:
        pointer.write_bytes(msgspec.json.encode({"directory": str(directory)}))


def forget(name: str) -> None:
    """No cluster of this name lies elsewhere."""
    (home() / f"{name}.json").unlink(missing_ok=True)


def names() -> list[str]:
    """Names of all clusters that this user has."""
    if not home().is_dir():
        return []
    found = {path.name for path in home().iterdir() if (path / _RECORD).is_file()}
    found |= {path.stem for path in home().iterdir() if path.suffix == ".json"}
    return sorted(found)


def find(name: str) -> ClusterRecord | None:
    """What was written down about a cluster; None: there is none of this name."""
    return load(directory_of(name))


def load(directory: Path) -> ClusterRecord | None:
    """The record in a directory; None: there is none."""
    path = directory / _RECORD
    _ensure_own(path)
    try:
        return msgspec.json.decode(path.read_bytes(), type=ClusterRecord)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise LocalClusterError(
            f"{path}: cannot be read ({error}); remove {directory} to start again with an empty cluster"
        ) from error


def _ensure_own(path: Path) -> None:
    try:
        check_kept(path, "choose a directory of your own (--data, XDG_DATA_HOME)")
    except MachineError as error:
        raise LocalClusterError(str(error)) from error


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other commands from changing the same cluster meanwhile; the directory must exist."""
    _ensure_own(directory / _LOCK)
    fd = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalClusterError(f"another command is at work on the cluster in {directory}; try again") from None
        yield
    finally:
        os.close(fd)
