"""What backends of real nodes share: clients on a thread of this process, sessions, and rules about messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from highwater_chaos.backends.local.clients import LocalClients
from highwater_chaos.backends.local.sessions import Sessions
from highwater_chaos.backends.primitives import RpcRule
from highwater_chaos.workload.client_host import ClientProcess
from highwater_runtime.ports import NodeCore, Ports


class MessageRules(Protocol):
    """Rules in the hosts of nodes."""

    def add(self, name: str, rule: RpcRule) -> None: ...
    def caught(self, name: str) -> int: ...
    def remove(self, name: str) -> None: ...
    def left(self, name: str) -> str | None: ...


class RealClients:
    """A part of a backend. Its attribute is there once it is built."""

    _clients: LocalClients | None = None

    def add_client(self, name: str, factory: Callable[[Ports], NodeCore]) -> None:
        """A core on the clients' thread."""
        assert self._clients is not None
        self._clients.add(name, factory)

    def add_client_process(
        self,
        name: str,
        argv: Sequence[str],
        on_line: Callable[[bytes], None],
        on_exit: Callable[[int, str], None],
        *,
        log: Path | None = None,
    ) -> ClientProcess:
        """Started by the clients' thread, in its network; of pods: in the runner's, which reaches brokers by name."""
        del name
        assert self._clients is not None
        return self._clients.add_process(argv, on_line, on_exit, log)

    def post(self, callback: Callable[[], None]) -> None:
        """Call it on the clients' event loop."""
        assert self._clients is not None
        self._clients.post(callback)

    def trace_digest(self) -> str:
        """No two runs are equal."""
        return ""


class RealNodes(RealClients):
    """The same, with nodes of its own."""

    _rules: MessageRules
    _sessions: Sessions | None = None
    """In ZooKeeper mode."""

    def add_rule(self, name: str, rule: RpcRule) -> None:
        """In the hosts of its destinations."""
        self._rules.add(name, rule)

    def rule_matches(self, name: str) -> int:
        """As the hosts counted them."""
        return self._rules.caught(name)

    def remove_rule(self, name: str) -> None:
        """Remove the rule from all hosts."""
        self._rules.remove(name)

    def rule_left(self, name: str) -> str | None:
        """Return which host answered that it still has the rule; None: none does."""
        return self._rules.left(name)

    def session(self, node: str) -> int:
        """As the ensemble answers a client of it."""
        assert self._sessions is not None, "only brokers of ZooKeeper mode have such sessions"
        return self._sessions.session(node)

    def end_session(self, node: str, session: int) -> None:
        """Close the session with the password that the broker's control socket told."""
        assert self._sessions is not None, "only brokers of ZooKeeper mode have such sessions"
        self._sessions.end(node, session)

    def elects_by_znode(self) -> bool:
        """Return whether this release elects by a znode."""
        return self._sessions is not None and self._sessions.elects_preferred

    def elect_preferred(self, partitions: Sequence[tuple[str, int]], on_outcome: Callable[[str | None], None]) -> None:
        """By the harness's own session with the ensemble."""
        assert self._sessions is not None, "such releases have ZooKeeper"
        self._sessions.elect_preferred(partitions, on_outcome)
