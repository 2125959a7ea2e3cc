"""Where each node's agent is, for runs that outlive agents.

An agent is a pod of a DaemonSet: when it is replaced (an upgrade, an eviction, a node that was drained) its successor
on the same node has another address, and keeps the faults' records, which are files of the node. So agents are known by
their node, and looked up by their labels whenever one does not answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentSettings
from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import POD

_LOOK_EVERY: Final = 1.0
_LOOK_PATIENCE: Final = 0.0


class AgentDirectory:
    """Agents by the name of their node. Safe to use from any thread.

    Args:
        look: finds those that are there now. May raise ``KubeError``.
        found: what it has found already.
    """

    def __init__(self, look: Callable[[], Mapping[str, AgentClient]], found: Mapping[str, AgentClient]) -> None:
        self._look = look
        self._found = dict(found)
        self._looking = threading.Lock()
        self._looked = 0.0
        self._wanderers = {node: _Wanderer(self, node) for node in found}

    def agent(self, node: str) -> AgentClient | None:
        """The node's agent, wherever it will be; None where there was none."""
        found = self._found.get(node)
        return None if found is None else replace(found, followed=self._wanderers[node])

    def at(self, node: str) -> AgentClient | None:
        """Where it was last seen."""
        return self._found.get(node)

    def look_again(self) -> None:
        """Look all of them up, at most once a second. One that is nowhere stays where it was: it may come back."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            if time.monotonic() - self._looked > _LOOK_EVERY:
                self._found.update(self._look())
        except KubeError:
            # A request to the old address fails, is reported, and the next request looks the address up again.
            return
        finally:
            self._looked = time.monotonic()
            self._looking.release()


class _Wanderer:
    """See :class:`~highwater_chaos.backends.kubernetes.agents.Followed`."""

    def __init__(self, directory: AgentDirectory, node: str) -> None:
        self._directory = directory
        self._node = node
        self.silent = False

    def now(self) -> AgentClient | None:
        return self._directory.at(self._node)

    def look_again(self) -> None:
        self._directory.look_again()


def directory_of(api: Kube, agents: AgentSettings) -> AgentDirectory:
    """Agents that are there now, and those that take their places. Raises ``KubeError``."""

    def look() -> Mapping[str, AgentClient]:
        return agents.clients(api.list(POD, agents.namespace, agents.selector, patience=_LOOK_PATIENCE))

    return AgentDirectory(look, agents.clients(api.list(POD, agents.namespace, agents.selector)))
