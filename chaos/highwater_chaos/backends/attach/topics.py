"""``python -m highwater_chaos.backends.attach.topics remove|look FILE``: what a run made on a cluster of others.

FILE, in the run's directory, says where the cluster is, where the client properties are (never what is in them), and
which topics the run has begun to create. Every topic is written there before it is asked for, so that whoever heals the
run finds it, however the harness ended; its id follows, so that a topic of the same name that somebody has created anew
is left alone. Before Kafka 2.8 topics have no ids, and the name alone counts.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from highwater_chaos.backends.attach.session import Access, Session, UnreachableError
from highwater_chaos.base.user_error import UserError
from highwater_chaos.machine.process.commands import GONE, THERE
from highwater_runtime.ports import MS, SECOND, Endpoint
from highwater_runtime.wire.errors import ErrorCode, error_name
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState

_UNKNOWN: Final = 2
_PATIENCE_S: Final = 40.0
WITHIN_S: Final = 60.0
"""How long this program may take."""
_AGAIN_S: Final = 0.5
_DELETE_VERSION: Final = 6
_ABSENT: Final = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class Made(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file. ``ids``: in hex, of those topics whose creation was answered with one."""

    bootstrap: list[str]
    client_config: str | None
    cluster_id: str
    topics: list[str]
    ids: dict[str, str] = {}

    def write(self, path: Path) -> None:
        """Whole or not at all, and on the disk. Raises ``OSError``."""
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(msgspec.json.encode(self))
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)

    @property
    def access(self) -> Access:
        """Return how clients connect and authenticate."""
        file = None if self.client_config is None else Path(self.client_config)
        return Access.of(",".join(self.bootstrap), file)


def main() -> int:
    """Remove, or look; returns 0 and 1 as a probe does, and 2 if it is not known."""
    what, path = sys.argv[1], Path(sys.argv[2])
    made = msgspec.json.decode(path.read_bytes(), type=Made)
    if not made.topics:
        return 0 if what == "remove" else GONE
    try:
        with Session(made.access) as session:
            brokers = _brokers(session, made)
            left = _remove(session, made, brokers) if what == "remove" else _there(session, made)
    except UserError as error:
        sys.stdout.write(f"{error}\n")
        return _UNKNOWN
    if left:
        sys.stdout.write(f"topics {', '.join(one.name for one in left)} of cluster {made.cluster_id}\n")
    if what == "remove":
        return _UNKNOWN if left else 0
    return THERE if left else GONE


def remove(made: Made) -> list[str]:
    """Delete what a run has made; the topics that are left. Raises ``UserError``: that is not known, or refused."""
    if not made.topics:
        return []
    with Session(made.access) as session:
        return [one.name for one in _remove(session, made, _brokers(session, made))]


def _brokers(session: Session, made: Made) -> dict[int, Endpoint]:
    """Raises ``UserError``: none answers, or another cluster does, of which nothing is deleted."""
    answer = session.metadata([])
    if answer.cluster_id != made.cluster_id:
        raise UserError(f"cluster {answer.cluster_id} answers, not {made.cluster_id}: nothing of it is deleted")
    first = answer.controller_id
    found = sorted(
        answer.brokers, key=lambda one: one.node_id != first
    )  # in ZooKeeper mode only the controller does it
    return {one.node_id: Endpoint(one.host, one.port) for one in found}


class _Topic(NamedTuple):
    """One that is there. ``id``: zero where topics have none."""

    name: str
    id: UUID

    def to_delete(self) -> DeleteTopicState:
        return DeleteTopicState(name=None, topic_id=self.id) if self.id.int else DeleteTopicState(name=self.name)


def _remove(session: Session, made: Made, brokers: dict[int, Endpoint]) -> list[_Topic]:
    until = time.monotonic() + _PATIENCE_S
    left = _there(session, made)
    while left and time.monotonic() < until:
        asked = [one.to_delete() for one in left]
        request = DeleteTopicsRequest(topics=asked, timeout_ms=5 * SECOND // MS)
        for broker in list(brokers.values()):
            try:
                answer: Any = session.ask(broker, request, _DELETE_VERSION, 10)
            except UnreachableError:
                continue
            refused = [one for one in answer.responses if one.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED]
            if refused:
                named = refused[0].name or ", ".join(one.name for one in left)
                raise UserError(f"topic {named}: {error_name(refused[0].error_code)}: the user needs Delete")
            if all(one.error_code in _ABSENT for one in answer.responses):
                break
        left = _there(session, made)
        if left:
            time.sleep(_AGAIN_S)
    return left


def _there(session: Session, made: Made) -> list[_Topic]:
    """Those of the run that are there; one that was created anew, under another id, is none of the run's."""
    answer = session.metadata(made.topics)
    found = [
        _Topic(str(one.name), one.topic_id)
        for one in answer.topics
        if one.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
    return [one for one in found if not one.id.int or made.ids.get(one.name, one.id.hex) == one.id.hex]


if __name__ == "__main__":
    sys.exit(main())
