"""Faults that the node program brings about in itself: messages held back, lost, late or doubled; flushes that do not
end; a clock that is wrong; heartbeats that are lost until a session has expired.

The agent sends instructions over the node's control socket, reached through its container's own file system. Each
instruction carries this fault's id, so that any agent can undo it. A node is not trusted: an exchange has one deadline
and one limit of size (``control_socket``). An answer of another shape than ours is an error.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from pydantic import BeforeValidator, Field, PlainSerializer

from highwater_chaos.base.quantities import Duration, format_signed_duration, parse_signed_duration
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.process.control_socket import NotListeningError, call_program
from highwater_chaos.machine.process.instructions import Instruction
from highwater_operator.agent.containers import running_node
from highwater_operator.agent.faults.base import Context, Fault, HealContext, PodNode
from highwater_operator.agent.places import CONTROL_PATH
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.requests import MOST_PEERS

_SOCKET: Final = "control.sock"
_STALLED_NS: Final = 1_000_000_000
_CLOCK_TOLERANCE_NS: Final = 50_000_000
_LOOKS_FOR: Final = 5.0
"""Seconds until a flush must have waited for long enough."""

Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


@dataclass(frozen=True, slots=True)
class FlushProbe:
    """Answer to ``diskProbe``: for how long the oldest flush has waited, and whether the node holds flushes."""

    waitingNs: Count = 0  # noqa: N815 - the node's word
    stalled: bool = False


@dataclass(frozen=True, slots=True)
class ClockError:
    """Answer to ``clockError``: the node's clock beside the machine's."""

    offsetNs: Int64  # noqa: N815 - the node's word
    rate: Annotated[float, msgspec.Meta(ge=0, le=1e6)]


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Answer to ``session``."""

    id: Int64
    password: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]*\Z", max_length=128)]


@dataclass(frozen=True, slots=True)
class Control:
    """The control socket of a node: its path, and the process in whose root directory it is."""

    path: str
    process: Identity | None

    def ask(self, method: str, kind: Any, params: dict[str, Any] | None = None) -> Any:
        """The node's answer as a ``kind``. Raises ``MachineError`` where there is none, or it is something else."""
        return answer_as(kind, call_program(self.path, method, params, process=self.process), method)

    def instruction(
        self, undo: str, undo_params: dict[str, Any], probe: str, method: str, params: dict[str, Any]
    ) -> Instruction:
        """To be made through the run's journal."""
        return Instruction(self.path, undo, undo_params, probe, method, params, self.process)


def answer_as(kind: Any, answer: Any, method: str) -> Any:
    """What a node answered, if it has the shape of ``kind``. Raises ``MachineError``."""
    try:
        return msgspec.convert(answer, type=kind)
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        raise MachineError(f"the node's answer to {method} is none: {error}; found {str(answer)[:200]!r}") from error


def control_socket(pod: Pod) -> Control:
    """The control socket of the pod's node. Raises ``RefusalError`` (409) where it does not run."""
    container = running_node(pod)
    return Control(f"{container.root}{CONTROL_PATH}/{_SOCKET}", container.processes[0])


def session(node: PodNode) -> dict[str, Any] | None:
    """Probe: the key of the broker's session with ZooKeeper, by which another connection can end it: ``id``,
    ``password`` (hex); None: it has none.

    Raises:
        RefusalError: 409, the node does not run; 502, it does not say.
    """
    try:
        key: SessionKey | None = control_socket(node.pod).ask("session", SessionKey | None)
    except MachineError as error:
        raise RefusalError(502, str(error), expected="the node's session", found="no such answer") from error
    return None if key is None else asdict(key)


def _asked(context: HealContext, method: str, kind: Any, *, with_params: bool = False) -> list[Any]:
    # What each program that was told answers now; nothing of one that has ended.
    answers = []
    for one in context.of(Instruction):
        with suppress(NotListeningError):
            answers.append(answer_as(kind, one.ask(method, one.undo_params if with_params else None), method))
    return answers


class Messages(Fault):
    """Messages that the pod's node receives (requests), or its answers to them (responses). Names of RPCs, and of
    clients in ``sources``, are Kafka's; nodes are clients by their own names (``broker-1``). Confirmed when the node
    answers that the rule is in force."""

    TALKS: ClassVar[bool] = True
    kind: Literal["hold", "drop", "delay", "duplicate"]
    rpc: Annotated[str, Field(min_length=1, max_length=60)]
    sources: Annotated[list[Annotated[str, Field(max_length=253)]], Field(max_length=MOST_PEERS, default_factory=list)]
    part: Literal["request", "response"] = "request"
    by: Duration = 0

    def inject(self, context: Context) -> list[Evidence]:
        """A rule in the node's server."""
        control, key = control_socket(context.pod), {"key": context.id}
        params = {
            **key,
            "action": self.kind,
            "rpc": self.rpc,
            "sources": self.sources,
            "part": self.part,
            "delayNs": self.by,
        }
        context.make(control.instruction("dropRule", key, "hasRule", "addRule", params))
        there = control.ask("hasRule", bool, key)
        claim = "says that the rule is in force" if there else "does not know the rule"
        whom = f" from {', '.join(self.sources)}" if self.sources else ""
        return [Evidence(f"the node {claim}: {self.kind} {self.rpc}{whom}", there, details={"rule": params})]

    def healed(self, context: HealContext) -> list[Evidence]:
        """The rule is gone, or the node that had it."""
        return _taken_back(context)

    def observe(self, context: HealContext) -> list[Evidence]:
        """How many messages it has acted upon so far."""
        return [
            Evidence(f"the rule has acted upon {matches} messages", details={"matches": matches})
            for matches in _asked(context, "ruleMatches", Count, with_params=True)
        ]


class DiskStall(Fault):
    """Flushes of the node do not end. Confirmed by one of its own that does not."""

    TALKS: ClassVar[bool] = True
    kind: Literal["diskStall"]

    def inject(self, context: Context) -> list[Evidence]:
        control = control_socket(context.pod)
        if control.ask("isStalled", bool):
            raise RefusalError(
                409, "the node's disk is stalled by another fault", expected="a disk that works", found="stalled"
            )
        context.make(control.instruction("diskStall", {"on": False}, "isStalled", "diskStall", {"on": True}))
        until = time.monotonic() + _LOOKS_FOR
        while (probe := control.ask("diskProbe", FlushProbe)).waitingNs <= _STALLED_NS and time.monotonic() < until:
            time.sleep(0.05)
        stalled = probe.stalled and probe.waitingNs > _STALLED_NS
        return [
            Evidence(f"a flush by the node waits for {probe.waitingNs / 1e9:.1f} s", stalled, details=asdict(probe))
        ]

    def healed(self, context: HealContext) -> list[Evidence]:
        return _taken_back(context)

    def observe(self, context: HealContext) -> list[Evidence]:
        """Return what the node says of its flushes."""
        return [
            Evidence(f"the node's disk {'is' if stalled else 'is not'} stalled", stalled)
            for stalled in _asked(context, "isStalled", bool)
        ]


class ClockSkew(Fault):
    """The node's clock is off by ``offset`` and runs at ``rate``. A slow clock that was wrong for a while is
    behind: then ``offset`` of the node's next incarnation is negative. Confirmed by what the node reads from its clock
    beside the machine's."""

    TALKS: ClassVar[bool] = True
    kind: Literal["clockSkew"]
    offset: Annotated[int, BeforeValidator(parse_signed_duration), PlainSerializer(format_signed_duration)] = 0
    rate: Annotated[float, Field(gt=0, le=100, strict=False)] = 1.0

    def inject(self, context: Context) -> list[Evidence]:
        """The node's clock is set off."""
        control = control_socket(context.pod)
        wrong = control.ask("clockError", ClockError)
        if not _is_right(wrong):
            raise RefusalError(
                409, "the node's clock is wrong already", expected="a right clock", found=str(asdict(wrong))
            )
        right, skew = {"offsetNs": 0, "rate": 1.0}, {"offsetNs": self.offset, "rate": self.rate}
        context.make(control.instruction("clock", right, "", "clock", skew))
        return [self._seen(control.ask("clockError", ClockError))]

    def healed(self, context: HealContext) -> list[Evidence]:
        """The clock is right again."""
        evidence = [
            Evidence(f"the node's clock is off by {error.offsetNs} ns", _is_right(error), "heal", details=asdict(error))
            for error in _asked(context, "clockError", ClockError)
        ]
        return evidence or [Evidence("the node that had a wrong clock is gone", phase="heal")]

    def observe(self, context: HealContext) -> list[Evidence]:
        """As the node reads it now."""
        return [self._seen(error) for error in _asked(context, "clockError", ClockError)]

    def _seen(self, error: ClockError) -> Evidence:
        # It drifts away from the offset where its rate is wrong.
        off = abs(error.rate - self.rate) < 1e-6 and (
            self.rate != 1.0 or abs(error.offsetNs - self.offset) <= _CLOCK_TOLERANCE_NS
        )
        saw = f"the node's clock is off by {error.offsetNs} ns and runs at {error.rate:g}"
        return Evidence(saw, off, details=asdict(error))


def _is_right(error: ClockError) -> bool:
    return error.rate == 1.0 and abs(error.offsetNs) <= _CLOCK_TOLERANCE_NS


def _taken_back(context: HealContext) -> list[Evidence]:
    return [_end_of(one) for one in context.of(Instruction)]


def _end_of(one: Instruction) -> Evidence:
    try:
        there = one.ask(one.probe_method, one.undo_params) is not False
    except NotListeningError:
        return Evidence("the node that had it is gone", True, "heal")
    except MachineError as error:
        return Evidence(str(error), False, "heal")
    return Evidence(one.describe() if there else "the node has taken it back", not there, "heal")
