"""What the harness does to single messages of a live node: hold, drop, delay, duplicate; by API, client and server.

Rules act at the receiving end: the server knows its clients by client id (nodes send their names). In front of
software that is not ours the server is a proxy (:mod:`highwater_runtime.host.proxy`). Semantics are those of the
simulator (``sim/faults.py``):

* A *held* or *delayed* request steps out of its connection's line, as if held in the sender's network layer: later
  ones overtake it. It arrives after its release even if its sender has given up by then, as a request in the server's
  socket buffer would; nobody hears the answer then.
* A held or delayed *response* keeps its place: responses behind it on the same connection wait. A connection that
  closes loses it.
* A *dropped* message vanishes alone; the client's time-out follows.
* Apache Kafka's clients take answers in the order of their requests, and an answer out of turn for a broken server. So
  on a connection by a proxy answers keep that order: those behind a message that is held or delayed wait for it, and
  those behind one that was dropped wait until the client gives up. Requests overtake all the same.
* What is kept back counts as bytes that the server holds: beyond its bound it reads from nobody.
* A *duplicated* request is handed to the core twice; the second response goes nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from highwater_runtime.host.hosting import Hosting
from highwater_runtime.host.net.requests import HostRequest, RequestSource

RuleAction = Literal["hold", "drop", "delay", "duplicate"]
MessagePart = Literal["request", "response"]

ACTIONS: Final[tuple[str, ...]] = get_args(RuleAction)
PARTS: Final[tuple[str, ...]] = get_args(MessagePart)


@dataclass(eq=False, slots=True)
class ServerRule:
    """What happens to the messages that match. ``sources`` are clients, ``destinations`` servers; empty: any."""

    action: RuleAction
    rpc: str
    sources: frozenset[str] = frozenset()
    destinations: frozenset[str] = frozenset()
    part: MessagePart = "request"
    delay_ns: int = 0
    matches: int = 0
    held: list[Callable[[], None]] = field(default_factory=list)
    """What lets go each message that the rule holds."""

    def wants(self, server: str, request: HostRequest, part: MessagePart) -> bool:
        """Whether this message is meant."""
        return (
            self.part == part
            and api_name(request.body.NAME) == self.rpc
            and (not self.sources or request.client_id in self.sources)
            and (not self.destinations or server in self.destinations)
        )


def api_name(message_name: str) -> str:
    """``"Fetch"`` for ``"FetchRequest"``, ``"FetchResponse"`` and ``"Fetch"``."""
    return message_name.removesuffix("Request").removesuffix("Response")


class Interference:
    """The rules in force in one server."""

    def __init__(self, node: Hosting) -> None:
        self.rules: dict[int, ServerRule] = {}
        """By id; empty as long as nobody interferes, and then all of this costs nothing."""
        self._node = node
        self._last_id = 0
        self._matches_of_old: dict[int, int] = {}

    # --- what the harness asks for ---

    def add(self, rule: ServerRule) -> int:
        """Put ``rule`` into force; returns its id.

        Raises:
            ValueError: for a rule that cannot be.
        """
        if rule.action not in ACTIONS:
            raise ValueError(f"action must be one of {', '.join(ACTIONS)}, not {rule.action!r}")
        if rule.part not in PARTS:
            raise ValueError(f"part must be one of {', '.join(PARTS)}, not {rule.part!r}")
        if rule.action == "duplicate" and rule.part == "response":
            raise ValueError("a response cannot be duplicated")
        if rule.delay_ns < 0:
            raise ValueError(f"delay of {rule.delay_ns} ns is negative")
        rule.rpc = api_name(rule.rpc)
        self._last_id += 1
        self.rules[self._last_id] = rule
        return self._last_id

    def matches(self, rule_id: int) -> int:
        """How many messages a rule has acted upon, also one that is over. Raises ``KeyError`` for an unknown one."""
        rule = self.rules.get(rule_id)
        return self._matches_of_old[rule_id] if rule is None else rule.matches

    def remove(self, rule_id: int) -> None:
        """Take a rule out of force and let go what it holds, in the order in which it was caught. Idempotent."""
        rule = self.rules.pop(rule_id, None)
        if rule is None:
            return
        self._matches_of_old[rule_id] = rule.matches
        held, rule.held = rule.held, []
        for let_go in held:
            let_go()

    def close(self) -> None:
        """The node ends: what is held is lost."""
        self.rules.clear()

    # --- what happens to messages ---

    def catch_request(self, request: HostRequest) -> bool:
        """Apply the first rule that matches; whether the core must not see the request now."""
        rule = self._matching(request, "request")
        if rule is None:
            return False
        match rule.action:
            case "drop":
                request.connection.lose(request)
                return True
            case "hold":
                request.connection.keep_back(request)
                rule.held.append(lambda: self._arrive(request))
                return True
            case "delay":
                request.connection.keep_back(request)
                self._node.loop.call_later(rule.delay_ns / 1e9, self._arrive, request)
                return True
            case "duplicate":
                twin = request.twin()
                self._node.loop.call_soon(self._in_turn, lambda: self._node.take(twin))
                return False

    def catch_response(self, request: HostRequest) -> Literal["send", "drop", "wait"]:
        """Apply the first rule that matches, and say what is to become of the answer; ``wait``: it is sent by the rule,
        and what is behind it waits too."""
        rule = self._matching(request, "response")
        if rule is None:
            return "send"
        connection = request.connection
        match rule.action:
            case "hold":
                rule.held.append(lambda: self._node.run_turn(_send_held, connection))
            case "delay":
                run_turn = self._node.run_turn
                self._node.loop.call_later(rule.delay_ns / 1e9, run_turn, _send_held, connection)
            case _:
                return "drop"
        return "wait"

    def _matching(self, request: HostRequest, part: MessagePart) -> ServerRule | None:
        name = self._node.name
        for rule in self.rules.values():
            if rule.wants(name, request, part):
                rule.matches += 1
                return rule
        return None

    def _arrive(self, request: HostRequest) -> None:
        """A request that was kept back reaches the core."""
        connection = request.connection
        connection.let_go(request)
        if connection.is_closed:
            self._in_turn(lambda: self._node.take(request))
        else:
            self._in_turn(lambda: connection.hand_over(request))

    def _in_turn(self, action: Callable[[], None]) -> None:
        self._node.run_turn(_call, action)


def _send_held(connection: RequestSource) -> None:
    connection.send_held_answer()


def _call(action: Callable[[], Any]) -> None:
    action()
