"""Topics that are created because a client asked for them (``auto.create.topics.enable``).

A Metadata request that lets missing topics be created is answered at once, as if nothing had been created; the client
asks again. The creation goes to the controller, which judges it like any CreateTopics, with the cluster's defaults for
partitions and replicas. A topic whose creation is under way is not asked for twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from highwater_runtime.broker.controller_channel import ControllerChannel
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.metadata.topic_names import METADATA_TOPIC, is_internal, is_legal
from highwater_runtime.ports import MS, Clock
from highwater_runtime.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest

VERSION: Final = 7
_DEFAULT: Final = -1


class TopicCreation:
    """What this broker asks the controller to create. ``enabled``: whether clients may cause that."""

    def __init__(self, channel: ControllerChannel, clock: Clock, *, enabled: bool, timeout_ms: int) -> None:
        self._channel = channel
        self._clock = clock
        self._enabled = enabled
        self._timeout_ms = timeout_ms
        self._under_way: dict[str, None] = {}

    def create_missing(self, names: Iterable[str], image: MetadataImage) -> None:
        """Ask for those of ``names`` that are not in ``image``, if clients may cause that and the names are legal.

        Internal topics are left to the coordinators that keep records in them.
        """
        if not self._enabled:
            return
        missing = [
            CreatableTopic(name=name, num_partitions=_DEFAULT, replication_factor=_DEFAULT)
            for name in dict.fromkeys(names)
            if name not in image.topics_by_name and is_legal(name) and name != METADATA_TOPIC and not is_internal(name)
        ]
        self.create(missing)

    def create(self, topics: list[CreatableTopic]) -> None:
        """Ask for ``topics`` but those under way. How it ends shows in the metadata, or by asking again."""
        wanted = [topic for topic in topics if topic.name not in self._under_way]
        if not wanted:
            return
        self._under_way.update(dict.fromkeys(topic.name for topic in wanted))
        request = CreateTopicsRequest(topics=wanted, timeout_ms=self._timeout_ms)

        def answered(_: Any) -> None:
            for topic in wanted:
                del self._under_way[topic.name]

        self._channel.ask(
            lambda: (request, VERSION), answered, give_up_at_ns=self._clock.now_ns() + self._timeout_ms * MS
        )
