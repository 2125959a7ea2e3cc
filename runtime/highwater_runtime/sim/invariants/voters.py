"""What voters of the quorum do with requests, and how soon (``raft-overdue``, ``stale-read``).

* A leader resigns when no majority, itself included, has fetched for 1.5 fetch time-outs (check-quorum). Who fetches is
  taken from the requests that arrive, not from what the leader believes.
* A voter whose leader says that it resigns (EndQuorumEpoch) stands for election: the first of the successors at once,
  the others after their back-off.
* While no message can be lost, a voter that does not fetch from the leader follows it soon, whatever its own time-outs
  are: the leader calls it (BeginQuorumEpoch) again and again.
* A leader does not answer a read that arrived after a majority had gone to a newer epoch, nor with an offset below what
  was committed when it arrived (Raft's ReadIndex, KIP-650).

Worked example: a quorum of five is cut in two and three, and the leader is among the two. A leader that is content with
one voter leads on. For those that it reaches there is no progress until the cut is healed, and a read sees what the
other three have replaced.

The trap: a node that was paused is late with everything, so what was due before is due anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.ports import MS, SECOND
from highwater_runtime.raft import RaftReplica
from highwater_runtime.raft.messages import end_of, fetch_params_of, is_metadata_fetch
from highwater_runtime.raft.read_offset import read_offset_of
from highwater_runtime.sim.connection import SimRequest
from highwater_runtime.sim.invariants.images import SUBJECT
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.zookeeper import ZooKeeperServer

OF_VOTERS: Final = (ApiKey.FETCH, ApiKey.FETCH_SNAPSHOT, ApiKey.END_QUORUM_EPOCH, ApiKey.READ_OFFSET)
"""Requests after which :meth:`VoterInvariants.on_request` has to look."""

_EVERY_NS: Final = 250 * MS
_SLACK_NS: Final = SECOND
_AT_ONCE_NS: Final = 200 * MS


@dataclass(slots=True)
class _Led:
    """A leader of one epoch, by its own clock. ``heard``: when each other voter's last fetch came, by its name."""

    raft: RaftReplica
    epoch: int
    heard: dict[str, int]
    overdue_ns: int | None = None
    """Since when it should have resigned."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A read that reached a leader of an epoch: what was committed then, and whether a majority had gone on."""

    call: SimRequest
    epoch: int
    committed_end: int
    was_deposed: bool


def is_voter(node: str) -> bool:
    """Whether a node of this name is a voter of the quorum."""
    return node.startswith(("controller-", "zookeeper-"))


class VoterInvariants:
    """Checks voters; the monitor calls it after requests and events.

    Args:
        committed_end: exclusive end of what has been called committed in the metadata log, by anybody.
        is_deposed: whether a majority of the voters is known to be in a newer epoch than this leader's.
    """

    def __init__(
        self,
        simulator: Simulator,
        live: LiveCluster,
        violations: Violations,
        committed_end: Callable[[], int],
        is_deposed: Callable[[RaftReplica], bool],
    ) -> None:
        self._simulator = simulator
        self._live = live
        self._violations = violations
        self._committed_end = committed_end
        self._is_deposed = is_deposed
        self._next_ns = 0
        self._led: dict[str, _Led] = {}
        self._astray: dict[str, tuple[int, int]] = {}
        """By voter that does not follow the leader: the leader's epoch, and since when nothing kept it from that."""
        self._reads: list[tuple[str, _Read]] = []

    def on_request(self, node: str, call: SimRequest) -> None:
        """Look at what a voter has just been asked."""
        raft = self._raft(node)
        if raft is None:
            return
        match call.body.API_KEY:
            case ApiKey.FETCH if is_metadata_fetch(call.body):
                params = fetch_params_of(call)
                if params is not None:
                    self._hears(node, raft, call.peer, params.epoch)
            case ApiKey.FETCH_SNAPSHOT:
                epochs = [one.current_leader_epoch for topic in call.body.topics for one in topic.partitions]
                self._hears(node, raft, call.peer, max(epochs, default=-1))
            case ApiKey.END_QUORUM_EPOCH:
                self._takes_over(node, raft, call)
            case ApiKey.READ_OFFSET if raft.is_leader or call.response is not None:
                read = _Read(call, raft.epoch, self._committed_end(), self._is_deposed(raft))
                self._reads.append((node, read))
            case _:
                pass

    def after_event(self) -> None:
        """Look at all voters if it is time."""
        if self._simulator.now_ns < self._next_ns:
            return
        self._next_ns = self._simulator.now_ns + _EVERY_NS
        if self._reads:
            self._reads = [(node, read) for node, read in self._reads if self._may_yet_be_answered(node, read)]
        for name in self._simulator.nodes:
            raft = self._raft(name)
            if raft is not None and raft.is_leader and raft.voter_count > 1:
                self._leads(name, raft)
            else:
                self._led.pop(name, None)
        self._call_voters()

    def _raft(self, node: str) -> RaftReplica | None:
        core = self._simulator.nodes[node].core
        return core.raft if isinstance(core, QuorumController | ZooKeeperServer) and core.has_started else None

    # --- check-quorum ------------------------------------------------------------------------------------------------

    def _hears(self, node: str, raft: RaftReplica, peer: str, epoch: int) -> None:
        led = self._led.get(node)
        if led is not None and led.raft is raft and led.epoch == epoch and peer in led.heard:
            led.heard[peer] = self._live.node_time_ns(node)

    def _leads(self, node: str, raft: RaftReplica) -> None:
        now, host = self._live.node_time_ns(node), self._simulator.nodes[node]
        led = self._led.get(node)
        if led is None or led.raft is not raft or led.epoch != raft.epoch:
            others = [name for name in self._simulator.nodes if name != node and is_voter(name)]
            led = self._led[node] = _Led(raft, raft.epoch, dict.fromkeys(others, now))
        heard = sorted(led.heard.values(), reverse=True)
        silent_ns = now - heard[(raft.voter_count // 2) - 1]
        if silent_ns <= raft.timing.check_quorum_ns or host.is_paused or host.is_held:
            led.overdue_ns = None
        elif led.overdue_ns is None:
            led.overdue_ns = now
        elif now - led.overdue_ns > _SLACK_NS:
            what = f"{node} leads epoch {raft.epoch}, though no majority has fetched for {silent_ns // MS} ms"
            self._violations.add("raft-overdue", node, what, (raft.epoch, "check-quorum"))

    # --- calls -------------------------------------------------------------------------------------------------------

    def _call_voters(self) -> None:
        """Look whether each voter that lives follows the leader, or has not had the time to be called by it."""
        nodes, fabric, before = self._simulator.nodes, self._simulator.fabric, self._astray
        self._astray = {}
        leader = max(self._led, key=lambda name: self._led[name].epoch, default=None)
        if leader is None or fabric.cuts or fabric.rules or nodes[leader].is_paused or nodes[leader].is_held:
            return
        led = self._led[leader]
        for name in led.heard:
            raft, host = self._raft(name), nodes[name]
            if raft is None or host.is_paused or host.is_held or raft.epoch > led.epoch:
                continue
            if (raft.epoch, raft.leader_id) != (led.epoch, led.raft.node_id):
                epoch, since_ns = before.get(name, (-1, 0))
                self._astray[name] = led.epoch, since_ns if epoch == led.epoch else self._simulator.now_ns
                astray_ns, timing = self._simulator.now_ns - self._astray[name][1], led.raft.timing
                # A call may have been lost just before, and the next one comes after its time-out.
                if astray_ns > timing.begin_epoch_ns + 2 * timing.request_ns + _SLACK_NS:
                    what = f"{leader} leads epoch {led.epoch}, and {name} has not followed it for {astray_ns // MS} ms"
                    self._violations.add("raft-overdue", name, what, (led.epoch, "called"))

    # --- hand-over ---------------------------------------------------------------------------------------------------

    def _takes_over(self, node: str, raft: RaftReplica, call: SimRequest) -> None:
        notice = end_of(call.body)
        if notice is None or (raft.epoch, raft.leader_id) != (notice.epoch, notice.leader_id):
            return
        line = notice.successors
        position = line.index(raft.node_id) if raft.node_id in line else len(line)

        state = raft.state

        def waits() -> bool:
            # Who stood meanwhile and heard from another voter that the epoch goes on is in a new state.
            return raft.is_voter and raft.state is state

        def found() -> None:
            self._violations.now_ns = self._simulator.now_ns
            what = f"{node} does not stand for election, though its leader of epoch {notice.epoch} has resigned"
            self._violations.add("raft-overdue", node, what, (notice.epoch, "hand-over"))

        within_ns = raft.timing.successor_backoff_ns(position, len(line))
        self._live.must_end(within_ns, node, waits, found, _AT_ONCE_NS)

    # --- reads -------------------------------------------------------------------------------------------------------

    def _may_yet_be_answered(self, node: str, read: _Read) -> bool:
        if read.call.response is None:
            return self._simulator.nodes[node].is_alive
        answer = read_offset_of(read.call.response)
        if answer.error is ErrorCode.NONE and answer.epoch == read.epoch:
            what = f"{node} answered a read with offset {answer.applied_offset} in epoch {read.epoch}"
            if read.was_deposed:
                what = f"{what}, though a majority of the voters was in a newer one when it came"
                self._violations.add("stale-read", SUBJECT, what, (read.epoch, "deposed"))
            elif answer.applied_offset < read.committed_end - 1:
                what = f"{what}; when it came, all below {read.committed_end} was committed"
                self._violations.add("stale-read", SUBJECT, what, (read.epoch, answer.applied_offset))
        return False
