"""What the host asks of a role. ``core`` is None before there is one and after it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from highwater_runtime.host.config.file import NodeSettings
from highwater_runtime.host.node import HostedNode
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import NodeCore, Ports
from highwater_runtime.ports.coordination import SessionKey


class Role(Protocol):
    """From settings to a core, and what can be asked of that core."""

    def make_core(
        self, settings: NodeSettings, ports: Ports, node: HostedNode, bootstrap_records: tuple[Any, ...]
    ) -> NodeCore:
        """Make the core of a node whose listeners are bound."""

    def metadata_of(self, core: NodeCore | None) -> MetadataImage | None:
        """Return the cluster as the core knows it."""

    def session_of(self, core: NodeCore | None) -> SessionKey | None:
        """Return the key of the core's ZooKeeper session; None if it has none."""

    def why_unready(self, core: NodeCore | None) -> str | None:
        """Return why the core does not do its work in the cluster yet (or now); None if it does."""


def partitions_in(image: MetadataImage | None) -> Iterator[tuple[str, int, int]]:
    """Yield name, leader (−1: none) and size of the ISR of each partition."""
    if image is not None:
        for topic, index, state in image.all_partitions():
            yield f"{topic.name}-{index}", state.leader, len(state.isr)
