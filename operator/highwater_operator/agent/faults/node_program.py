"""Faults that the node program brings about in itself: messages held back, lost, late or doubled; flushes that do not
end; a clock that is wrong; heartbeats that are lost until a session has expired.

The agent sends instructions over the node's control socket, reached through its container's own file system. Each
instruction carries this fault's id, so that any agent can undo it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.instructions import Instruction, call_program
from highwater_operator.agent.containers import running_node
from highwater_operator.agent.faults.base import Context, HealContext
from highwater_operator.agent.places import CONTROL_PATH
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.refusals import Refusal
from highwater_operator.agent.requests import (
    ClockSkewRequest,
    DiskRequest,
    MessagesRequest,
    SessionExpiryRequest,
)

_SOCKET: Final = "control.sock"
_STALLED_NS: Final = 1_000_000_000
_CLOCK_TOLERANCE_NS: Final = 50_000_000
_LOOKS: Final = 60


def control_socket(pod: Pod) -> str:
    """The control socket of the pod's node. Raises ``Refusal`` (409) where it does not run or does not serve one."""
    path = Path(f"{running_node(pod).root}{CONTROL_PATH}/{_SOCKET}")
    if not path.exists():
        raise Refusal(409, "the node serves no control socket", expected=f"{CONTROL_PATH}/{_SOCKET}", found="no file")
    return str(path)


def session_key(pod: Pod) -> dict[str, Any] | None:
    """The key of the broker's session with ZooKeeper, as its program gives it: ``id``, ``password`` (hex); None: it
    has none. Raises ``Refusal`` (409) where it does not run."""
    found: dict[str, Any] | None = call_program(control_socket(pod), "session")
    return found


@dataclass(frozen=True, slots=True)
class MessagesKind:
    """Confirmed when the node answers that the rule is in force. A look at the fault and its end also report the number
    of messages that the rule acted upon."""

    request: MessagesRequest | SessionExpiryRequest

    def inject(self, context: Context) -> list[Evidence]:
        """A rule in the node's server."""
        socket = control_socket(context.pod)
        # One rule a source where a session is to expire is not needed: the rule knows all of them.
        request = self.request
        params: dict[str, Any] = {"key": context.id}
        if isinstance(request, SessionExpiryRequest):
            params |= {"action": "drop", "rpc": "BrokerHeartbeat", "sources": request.brokers}
        else:
            params |= {
                "action": request.kind,
                "rpc": request.rpc,
                "sources": request.sources,
                "part": request.part,
                "delayNs": request.by,
            }
        context.make(Instruction(socket, "dropRule", {"key": context.id}, "hasRule", "addRule", params))
        there = call_program(socket, "hasRule", {"key": context.id}) is True
        claim = "says that the rule is in force" if there else "does not know the rule"
        whom = f" from {', '.join(params['sources'])}" if params["sources"] else ""
        return [
            Evidence(f"the node {claim}: {params['action']} {params['rpc']}{whom}", there, details={"rule": params})
        ]

    def healed(self, context: HealContext) -> list[Evidence]:
        """The rule is gone, or the node that had it."""
        return _taken_back(context)

    def observe(self, context: HealContext) -> list[Evidence]:
        """How many messages it has acted upon so far."""
        evidence = []
        for one in context.resources:
            if isinstance(one, Instruction) and Path(one.socket).exists():
                matches = call_program(one.socket, "ruleMatches", one.undo_params)
                evidence.append(Evidence(f"the rule has acted upon {matches} messages", details={"matches": matches}))
        return evidence


@dataclass(frozen=True, slots=True)
class DiskStallKind:
    """Confirmed by a flush of the node's own that does not end."""

    request: DiskRequest

    def inject(self, context: Context) -> list[Evidence]:
        """Fsyncs are held."""
        socket = control_socket(context.pod)
        if call_program(socket, "isStalled"):
            raise Refusal(
                409, "the node's disk is stalled by another fault", expected="a disk that works", found="stalled"
            )
        context.make(Instruction(socket, "diskStall", {"on": False}, "isStalled", "diskStall", {"on": True}))
        for _ in range(_LOOKS):
            answer = call_program(socket, "diskProbe")
            if answer.get("waitingNs", 0) > _STALLED_NS:
                break
            time.sleep(0.05)
        waited = answer.get("waitingNs", 0) / 1e9
        return [Evidence(f"a flush by the node waits for {waited:.1f} s", waited > _STALLED_NS / 1e9, details=answer)]

    def healed(self, context: HealContext) -> list[Evidence]:
        """Flushes end again."""
        return _taken_back(context)

    def observe(self, context: HealContext) -> list[Evidence]:
        """The node's own word."""
        return [
            Evidence(f"the node's disk {'is' if stalled else 'is not'} stalled", stalled)
            for one in context.resources
            if isinstance(one, Instruction) and Path(one.socket).exists()
            for stalled in [call_program(one.socket, "isStalled") is True]
        ]


@dataclass(frozen=True, slots=True)
class ClockSkewKind:
    """Confirmed by what the node reads from its clock beside the machine's."""

    request: ClockSkewRequest

    def inject(self, context: Context) -> list[Evidence]:
        """The node's clock is set off."""
        socket = control_socket(context.pod)
        wrong = call_program(socket, "clockError")
        if wrong["rate"] != 1.0 or abs(wrong["offsetNs"]) > _CLOCK_TOLERANCE_NS:
            raise Refusal(409, "the node's clock is wrong already", expected="a right clock", found=str(wrong))
        right, skew = {"offsetNs": 0, "rate": 1.0}, {"offsetNs": self.request.offset, "rate": self.request.rate}
        context.make(Instruction(socket, "clock", right, "", "clock", skew))
        return [self._seen(call_program(socket, "clockError"))]

    def healed(self, context: HealContext) -> list[Evidence]:
        """The clock is right again."""
        evidence = []
        for one in context.resources:
            if isinstance(one, Instruction) and Path(one.socket).exists():
                error = call_program(one.socket, "clockError")
                right = error["rate"] == 1.0 and abs(error["offsetNs"]) <= _CLOCK_TOLERANCE_NS
                evidence.append(
                    Evidence(f"the node's clock is off by {error['offsetNs']} ns", right, "heal", details=error)
                )
        return evidence or [Evidence("the node that had a wrong clock is gone", phase="heal")]

    def observe(self, context: HealContext) -> list[Evidence]:
        """As the node reads it now."""
        return [
            self._seen(call_program(one.socket, "clockError"))
            for one in context.resources
            if isinstance(one, Instruction) and Path(one.socket).exists()
        ]

    def _seen(self, error: dict[str, Any]) -> Evidence:
        # It drifts away from the offset where its rate is wrong.
        off = abs(error["rate"] - self.request.rate) < 1e-6 and (
            self.request.rate != 1.0 or abs(error["offsetNs"] - self.request.offset) <= _CLOCK_TOLERANCE_NS
        )
        saw = f"the node's clock is off by {error['offsetNs']} ns and runs at {error['rate']:g}"
        return Evidence(saw, off, details=error)


def _taken_back(context: HealContext) -> list[Evidence]:
    evidence = []
    for one in context.resources:
        if isinstance(one, Instruction):
            try:
                left = one.left()
            except MachineError as error:
                left = str(error)
            there = "the node has taken it back" if Path(one.socket).exists() else "the node that had it is gone"
            evidence.append(Evidence(left or there, left is None, "heal"))
    return evidence
