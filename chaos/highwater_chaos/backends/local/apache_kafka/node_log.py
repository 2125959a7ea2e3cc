"""What Apache Kafka's nodes say of themselves, read from their logs.

The metadata log holds what the cluster has agreed upon. It lacks two things: under which epoch a broker's *present
process* is registered (the log names an epoch and a random incarnation id, no process), and which controller leads now
or has just resigned. Nodes log both. Since Kafka 3.3 these lines have changed only in names of classes and of what is
in brackets; tests read logs of real nodes. In ZooKeeper mode brokers log which session they have begun, since 1.0.

Times are the node's wall clock in milliseconds, which on one machine is ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import BrokerStateChanged, NodeEvent, RaftStateChanged

_CHUNK: Final = 1 << 20
_NOBODY: Final = -1

_LIFECYCLE: Final = re.compile(r"^(\S+) INFO \S*BrokerLifecycleManager - \[BrokerLifecycleManager id=(\d+)\] (.*)$")
_RAFT: Final = re.compile(
    r"^(\S+) INFO \S*QuorumState - \[RaftManager (?:id|nodeId)=\d+\] Completed transition to (\w+)\((.*)$"
)

_LOGGERS: Final = ("BrokerLifecycleManager", "QuorumState")

_REGISTERED: Final = re.compile(r"Successfully registered broker \d+ with broker epoch (\d+)")
_TO_STATE: Final = re.compile(r"Transitioning from \w+ to (\w+)")
_CONTROLLED_SHUTDOWN: Final = "Beginning controlled shutdown"
_STATES: Final = {"RECOVERY": "recovery", "RUNNING": "running"}

_ROLES: Final = {
    "Unattached": "unattached",  # so until 3.9
    "UnattachedState": "unattached",
    "Voted": "voted",  # until 3.8; later it is an unattached one with a vote
    "FollowerState": "follower",
    "ProspectiveState": "prospective",
    "CandidateState": "candidate",
    "Leader": "leader",
    "LeaderState": "leader",
    "ResignedState": "resigned",
}
_EPOCH: Final = re.compile(r"\bepoch=(\d+)")
_LEADER: Final = re.compile(r"\bleader(?:=|Id=(?:OptionalInt\[)?)(\d+)")
_VOTED: Final = re.compile(r"\b(?:votedId=|votedKey=(?:Optional\[)?ReplicaKey\(id=)(\d+)")

_SESSION: Final = re.compile(
    r"^(\S+) INFO \S*ClientCnxn - Session establishment complete on server .*\bsession ?id = 0x([0-9a-f]{1,16})\b"
)
_SERVER: Final = re.compile(r"^(\S+) INFO \S*KafkaServer - \[Kafka ?Server (?:id=)?\d+\],? (.*)$")
_SERVER_STATES: Final = {"started": "running", "Starting controlled shutdown": "controlled-shutdown"}


_SESSION_LOGGERS: Final = ("ClientCnxn", "KafkaServer")
_NO_TIME: Final = "1970-01-01T00:00:00Z"


class LogEvent(NamedTuple):
    """An event and when the node logged it, in ns of its wall clock."""

    wall_ns: int
    event: NodeEvent


class NodeLog:
    """Reads the lines of one incarnation of one node. Reports the quorum's states of controllers only, since a broker
    observes the quorum and logs what it observes in the same words."""

    def __init__(self, node_id: int, *, is_controller: bool) -> None:
        self._node_id = node_id
        self._is_controller = is_controller
        self._broker_epoch = -1

    def event_of(self, line: str) -> LogEvent | None:
        """Return the event that a line reports; None if it reports none."""
        event = self._event(line)
        return None if event is None else LogEvent(_wall_ns(line.partition(" ")[0]), event)

    def event_in(self, logger: str, text: str) -> NodeEvent | None:
        """The same of what a logger wrote at INFO."""
        return self._event(f"- INFO {logger} - {text}") if logger.endswith(_LOGGERS) else None

    def _event(self, line: str) -> NodeEvent | None:
        if (match := _LIFECYCLE.match(line)) is not None:
            return self._lifecycle(match[3])
        if self._is_controller and (match := _RAFT.match(line)) is not None:
            return self._raft(match[2], match[3])
        return None

    def _lifecycle(self, text: str) -> NodeEvent | None:
        if (registered := _REGISTERED.search(text)) is not None:
            self._broker_epoch = int(registered[1])
            return self._broker("registered")
        if text.startswith(_CONTROLLED_SHUTDOWN):
            return self._broker("controlled-shutdown")
        if (moved := _TO_STATE.search(text)) is not None and moved[1] in _STATES:
            return self._broker(_STATES[moved[1]])
        return None

    def _broker(self, reason: str) -> BrokerStateChanged:
        return BrokerStateChanged(broker=self._node_id, broker_epoch=self._broker_epoch, reason=reason)

    def _raft(self, state: str, text: str) -> NodeEvent | None:
        now = text.partition(") from ")[0]
        role, epoch = _ROLES.get(state), _EPOCH.search(now)
        if role is None or epoch is None:
            return None
        leader, voted = _LEADER.search(now), _VOTED.search(now)
        if role == "unattached" and voted is not None:
            role = "voted"
        leads = role in ("leader", "resigned")
        return RaftStateChanged(
            epoch=int(epoch[1]),
            leader=self._node_id if leads else int(leader[1]) if leader is not None else _NOBODY,
            broker=int(voted[1]) if voted is not None else self._node_id if role == "candidate" else _NOBODY,
            reason=role,
        )


class SessionLog:
    """Reads the lines of one incarnation of a broker of ZooKeeper mode. A line says which session a process has, and
    ZooKeeper which session a registration belongs to. So the caller tells what is registered by :meth:`registered`.
    """

    def __init__(self, broker: int) -> None:
        self._broker = broker
        self.sessions: set[int] = set()  # membership only, never iterated
        self._seen: dict[int, int] = {}
        self._broker_epoch = -1

    def registered(self, session: int, broker_epoch: int) -> NodeEvent | None:
        """A session registered the broker id; returns the event if that session is known to be of this process."""
        self._seen[session] = broker_epoch
        return self._join(session)

    @property
    def is_mute(self) -> bool:
        """Whether sessions registered the broker id, and this process has logged none."""
        return bool(self._seen) and not self.sessions

    def event_of(self, line: str) -> LogEvent | None:
        """Return the event that a line reports; None if it reports none."""
        event: NodeEvent | None = None
        if (match := _SESSION.match(line)) is not None:
            self.sessions.add(session := int(match[2], 16))
            event = self._join(session)
        elif (match := _SERVER.match(line)) is not None and match[2] in _SERVER_STATES:
            event = self._state(_SERVER_STATES[match[2]])
        return None if event is None or match is None else LogEvent(_wall_ns(match[1]), event)

    def event_in(self, logger: str, text: str) -> NodeEvent | None:
        """The same of what a logger wrote at INFO."""
        if not logger.endswith(_SESSION_LOGGERS):
            return None
        found = self.event_of(f"{_NO_TIME} INFO {logger} - {text}")
        return None if found is None else found.event

    def _join(self, session: int) -> NodeEvent | None:
        if session not in self.sessions or session not in self._seen:
            return None
        self._broker_epoch = self._seen[session]
        return self._state("registered")

    def _state(self, reason: str) -> NodeEvent:
        return BrokerStateChanged(broker=self._broker, broker_epoch=self._broker_epoch, reason=reason)


def _wall_ns(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000) * MS


class LogTail:
    """Reads along in a file that is being written, and may not be there yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._partial = b""

    def lines(self) -> Iterator[str]:
        """Whole lines that have come up since the last call."""
        if self._fd is None:
            try:
                self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return
        parts = [self._partial]
        while data := os.read(self._fd, _CHUNK):
            parts.append(data)
        *lines, self._partial = b"".join(parts).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
