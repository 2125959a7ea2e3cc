"""Topics that a run makes where it is a guest: noted before they are asked for, so that they are deleted in any case.

Their ids follow. A topic that somebody else had made is forgotten, and one that somebody has created anew has another
id: neither is deleted.
"""

from __future__ import annotations

from collections import Counter

from highwater_chaos.backends.attach.topics import Made


class NotesTopics:
    """A part of a backend: :class:`~highwater_chaos.backends.protocol.OwnsTopics`."""

    def _begin_notes(self, made: Made) -> None:
        self._made = made
        self._tries: Counter[str] = Counter()
        self._earlier_ids: dict[str, str] = {}

    def creating(self, topic: str) -> None:
        """Note it before it is asked for."""
        self._tries[topic] += 1
        if topic not in self._made.topics:
            self._made.topics.append(topic)
        elif (earlier := self._made.ids.pop(topic, None)) is not None:
            self._earlier_ids[topic] = earlier
        self._write_made()

    def created(self, topic: str, topic_id: str) -> None:
        self._made.ids[topic] = topic_id
        self._write_made()

    def not_created(self, topic: str) -> None:
        """Forget a topic that somebody else has made, unless the run itself had, in an earlier step."""
        if self._tries[topic] == 1:
            self._made.topics.remove(topic)
        elif topic in self._earlier_ids:
            self._made.ids[topic] = self._earlier_ids[topic]
        self._write_made()

    def _write_made(self) -> None:
        raise NotImplementedError
