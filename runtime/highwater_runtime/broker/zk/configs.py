"""The configurations of topics and brokers, from ``/config``.

All are read when the session is connected, before the broker registers; then ``/config/changes`` says which is another.
A topic's is written with the topic, before any command names it, so it is read when a command first does. The server of
this session may lag behind the one by which the controller heard of the topic. So the broker writes first, without
effect: a session's reads see what its writes follow. Kafka's brokers (``KafkaZkClient``, up to 3.9) do not, and may
obey the defaults until the settings are altered or they start again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from highwater_runtime.broker.zk.membership import Membership
from highwater_runtime.metadata import ConfigResource
from highwater_runtime.metadata.registrations import BROKER_RESOURCE, TOPIC_RESOURCE
from highwater_runtime.metadata.znodes import (
    ALL_BROKERS,
    BROKER_CONFIGS,
    CONFIG_CHANGES,
    TOPIC_CONFIGS,
    ConfigChangeNode,
    ZnodeError,
    decode_config,
    decode_node,
)
from highwater_runtime.ports.coordination import (
    Check,
    Children,
    Data,
    Failure,
    Get,
    Listing,
    Multi,
    WatchEvent,
    WatchKind,
)

_PARENTS = {"topics": (TOPIC_CONFIGS, TOPIC_RESOURCE), "brokers": (BROKER_CONFIGS, BROKER_RESOURCE)}


class Configs:
    """Keeps configurations up to date. ``on_read`` gets each one that was read, empty if there is none."""

    def __init__(self, membership: Membership, on_read: Callable[[ConfigResource, Mapping[str, str]], None]) -> None:
        self._membership = membership
        self._on_read = on_read
        self._topics: dict[str, None] = {}
        """Topics that a command has named, so that their configuration was read. What was read with all others may be
        that of a former topic of the same name, of whose end this broker never hears."""
        self._seen = ""
        """The last change that has been followed."""

    def read_all(self, then: Callable[[], None]) -> None:
        """Read everything and watch for changes; calls ``then`` if the connection holds."""

        def listed_changes(result: Listing | Failure) -> None:
            if isinstance(result, Listing):
                self._seen = max(result.names, default="")
                self._list("topics", lambda: self._list("brokers", then))

        self._membership.submit(Children(CONFIG_CHANGES), listed_changes, watch=self._changed)

    def know(self, topics: Iterable[str], then: Callable[[], None]) -> None:
        """Call ``then`` once these topics' configurations have been read; at once if they have, or cannot be."""
        self._read_topics([topic for topic in dict.fromkeys(topics) if topic not in self._topics], then)

    def forget(self, topic: str) -> None:
        """Forget a deleted topic. A new topic of its name has a configuration of its own."""
        self._topics.pop(topic, None)

    def _read_topics(self, topics: list[str], then: Callable[[], None]) -> None:
        if not topics:
            then()
            return
        waiting = len(topics)

        def read() -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting:
                then()

        self._membership.submit(Multi(steps=(Check(TOPIC_CONFIGS),)), lambda _: None)
        for topic in topics:
            self._read("topics", topic, read, named=True)

    def _list(self, kind: str, then: Callable[[], None]) -> None:
        def listed(result: Listing | Failure) -> None:
            if not isinstance(result, Listing):
                return
            names = list(result.names)
            if kind == "topics":
                names += [topic for topic in self._topics if topic not in result.names]
            waiting = len(names)
            if not waiting:
                then()

            def read() -> None:
                nonlocal waiting
                waiting -= 1
                if not waiting:
                    then()

            for name in names:
                self._read(kind, name, read)

        self._membership.submit(Children(_PARENTS[kind][0]), listed)

    def _read(self, kind: str, name: str, then: Callable[[], None], *, named: bool = False) -> None:
        parent, resource_type = _PARENTS[kind]
        path = f"{parent}/{name}"

        def read(result: Data | Failure) -> None:
            if isinstance(result, Data) or result is Failure.NO_NODE:
                if named:
                    self._topics[name] = None
                resource = ConfigResource(resource_type, "" if name == ALL_BROKERS else name)
                self._on_read(resource, _values(path, result))
            then()

        self._membership.submit(Get(path), read)

    def _changed(self, event: WatchEvent) -> None:
        if event.kind is not WatchKind.LOST:  # else everything is read once there is a connection again
            self._membership.submit(Children(CONFIG_CHANGES), self._follow, watch=self._changed)

    def _follow(self, result: Listing | Failure) -> None:
        if not isinstance(result, Listing):
            return
        for name in result.names:
            if name > self._seen:
                self._seen = name
                path = f"{CONFIG_CHANGES}/{name}"
                self._membership.submit(Get(path), lambda found, path=path: self._read_changed(path, found))  # type: ignore[misc]

    def _read_changed(self, path: str, found: Data | Failure) -> None:
        if not isinstance(found, Data):
            return
        try:
            kind, _, name = decode_node(ConfigChangeNode, path, found.data).entity_path.partition("/")
        except ZnodeError:
            return
        if kind in _PARENTS and name and "/" not in name:
            self._read(kind, name, lambda: None)


def _values(path: str, result: Data | Failure) -> Mapping[str, str]:
    return {} if isinstance(result, Failure) else decode_config(path, result.data)
