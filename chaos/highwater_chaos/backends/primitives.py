"""What a backend may be able to do to nodes, disks, clocks and messages: a small protocol for each.

A backend has a primitive if it has the protocol's methods, and in no other way. A fault names the protocols that it
needs (:attr:`highwater_chaos.faults.Fault.needs`), and asks its context for them. What a machine does to a node and
takes back again is in a list of its own (:mod:`highwater_chaos.machine.primitives`): backends get it without code.

``until_ns`` is the run time at which a fault ends by itself even if the harness does not get to undo it; None: when the
run ends. Methods that act on a node raise ``KeyError`` for an unknown one, and
:class:`~highwater_chaos.backends.protocol.BackendError` if the place does not let them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

from highwater_chaos.machine import primitives as of_machines
from highwater_chaos.workload.client_host import HostsClientProcesses
from highwater_runtime.config import PropertyValue

PausesNodes = of_machines.PausesNodes
MendsDisks = of_machines.MendsDisks
FillsDisks = of_machines.FillsDisks
FailsDisks = of_machines.FailsDisks
BlocksWrites = of_machines.BlocksWrites
CutsLinks = of_machines.CutsLinks
Primitive = type[Any]
"""One of the protocols of :data:`PRIMITIVES`."""

Needs = frozenset[Primitive] | None
"""What a schedule may use; None: anything."""
KeepMode = Literal["none", "prefix", "torn"]


@dataclass(frozen=True, slots=True)
class PowerLossReport:
    """What a power loss took: bytes that were written but not durable, and are gone."""

    lost_bytes: int


@dataclass(frozen=True, slots=True)
class RpcRule:
    """Messages to interfere with. ``rpc`` is Kafka's API name (``AlterPartition``); ``sources`` are clients of the RPC
    and ``destinations`` its servers, whichever ``part`` is meant; empty: any node."""

    action: Literal["hold", "drop", "delay", "duplicate"]
    rpc: str
    sources: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    part: Literal["request", "response"] = "request"
    delay_ns: int = 0


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands of the user's, as lists of arguments, each of which may take ``seconds``. ``environment`` is added to
    that of the harness. ``probe`` ends with status 0 if the fault is there, and with 1 if it is gone."""

    inject: tuple[str, ...]
    heal: tuple[str, ...]
    probe: tuple[str, ...]
    seconds: float
    environment: Mapping[str, str]


class Probed(NamedTuple):
    """What a probe command said. ``there`` None: it does not know; ``what`` says it in words."""

    there: bool | None
    what: str


# --- nodes ---


@runtime_checkable
class LosesPower(Protocol):
    """Machines whose power can fail."""

    def power_loss(self, node: str, keep: KeepMode, *, wipe: bool = False) -> PowerLossReport:
        """The machine loses power: process gone, page cache gone but for what ``keep`` says. With ``wipe``, which
        :class:`WipesDisks` allows, its disk is replaced before anything can start on it."""


@runtime_checkable
class LosesPowerAtWrites(Protocol):
    """Machines whose power can fail in the middle of what a node does."""

    def plan_power_loss(self, node: str, write: int, keep: KeepMode) -> None:
        """Let the machine lose power instead of the ``write``-th change of its disk from now on: a write, a creation, a
        rename, a removal, a flush."""

    def planned_power_loss(self, node: str) -> PowerLossReport | None:
        """What the machine lost by the last plan; None: that has not come to pass."""

    def drop_power_loss(self, node: str) -> None:
        """Forget a plan that has not come to pass."""


@runtime_checkable
class KillsNodes(Protocol):
    """Processes that can be killed."""

    def kill(self, node: str) -> None:
        """SIGKILL: the process is gone, the page cache stays."""


@runtime_checkable
class StopsNodes(Protocol):
    """Processes that can be asked to stop."""

    def stop(self, node: str) -> None:
        """Ask for a clean shutdown; the node is ``STOPPING``, then ``DOWN``."""


@runtime_checkable
class ConfiguresNodes(Protocol):
    """Nodes whose configuration can be changed, each for itself."""

    def configure(self, node: str, config: Mapping[str, PropertyValue]) -> None:
        """Add these properties to the node's configuration from its next start on."""


@runtime_checkable
class SkewsClocks(Protocol):
    """Clocks that can be wrong."""

    def skew_clock(self, node: str, offset_ns: int, rate: float) -> None:
        """Set the node's wall clock off by ``offset_ns`` and let its clock run at ``rate`` (0, 1.0: right again)."""

    def clock_error(self, node: str) -> tuple[int, float]:
        """Probe: the node's wall clock minus the right one in ns, and its rate (1.0: right)."""


# --- disks ---


@runtime_checkable
class WipesDisks(Protocol):
    """Disks that can be replaced."""

    def kill_and_wipe(self, node: str) -> None:
        """SIGKILL if it runs, and the node's disk is replaced by an empty one before anything can start on it."""

    def disk_is_empty(self, node: str) -> bool:
        """Probe: whether the node's data directory holds nothing."""


@runtime_checkable
class StallsDisks(MendsDisks, Protocol):
    """Disks that can stall."""

    def stall_disk(self, node: str, until_ns: int | None = None) -> None:
        """Let no flush of the node's disk complete."""


# --- messages and sessions ---


@runtime_checkable
class AppliesRpcRules(Protocol):
    """Messages of single RPCs that can be held, dropped, delayed and duplicated."""

    def add_rule(self, name: str, rule: RpcRule) -> None:
        """Put a rule into force. ``name`` is the caller's name for it."""

    def rule_matches(self, name: str) -> int:
        """How many messages the rule has acted upon, exactly once it is out of force; before, as far as is known. 0 if
        there never was one."""

    def remove_rule(self, name: str) -> None:
        """Take a rule out of force, also one that failed halfway; what it holds back is let go. Idempotent."""

    def rule_left(self, name: str) -> str | None:
        """Probe, after :meth:`remove_rule`: ask the nodes for the rules that they apply. Returns what is left of this
        one (in force, or messages held back), or None. A node that cannot be asked is something left."""


@runtime_checkable
class NotesCatches(Protocol):
    """A backend with :class:`AppliesRpcRules` that knows when rules acted. No fault needs it; reports show it."""

    def rule_times(self, name: str) -> Sequence[int]:
        """When the rule acted upon a message, in ns of run time, in order; of many, the first ones."""


@runtime_checkable
class ExpiresSessions(Protocol):
    """ZooKeeper sessions that can be ended while their client lives."""

    def session(self, node: str) -> int:
        """Probe: the session by which a broker is registered, by its id as a server of the ensemble knows it; 0: none.

        Raises :class:`~highwater_chaos.backends.protocol.BackendError` while no server has answered.
        """

    def end_session(self, node: str, session: int) -> None:
        """Take over that session of a broker by its id and password, and close it. Returns before it is over."""


# --- what others do ---


@runtime_checkable
class RunsCommands(Protocol):
    """A place where commands of the user's can run. No method waits for a command."""

    def allows_commands(self) -> bool:
        """Whether the user has allowed them."""

    def add_commands(self, name: str, commands: Commands) -> None:
        """Take the commands of one fault. ``name`` is the caller's name for them."""

    def begin_commands(self, name: str, until_ns: int | None = None) -> None:
        """Begin to run the inject command."""

    def end_commands(self, name: str) -> None:
        """Begin to run the heal command, again for a while if the probe still sees something. Idempotent; runs nothing
        if the inject command was never begun."""

    def commands_outcome(self, name: str) -> str | None:
        """Why what was begun last failed; empty: it has ended well, or nothing was begun; None: it has not ended."""

    def probe_commands(self, name: str) -> Probed | None:
        """Probe: the last response of the probe command, asked for after what was begun last; None: there is none yet.
        Sees to it that there will be a newer one."""


@runtime_checkable
class ReplacesPods(Protocol):
    """Nodes that are pods, which somebody else makes again when they are gone."""

    def delete_pod(self, node: str) -> None:
        """Delete the node's pod, with its own grace period."""

    def evict_pod(self, node: str) -> str | None:
        """Ask for the eviction of the node's pod. Why it is refused (a PodDisruptionBudget); None: it is granted."""

    def pod_of(self, node: str) -> str:
        """Probe: the uid of the pod that the node has now; empty: it has none yet that could be touched."""


@runtime_checkable
class DrainsMachines(ReplacesPods, Protocol):
    """Machines on which no more pods are put."""

    def cordon(self, node: str, until_ns: int | None = None) -> str:
        """Let no new pod onto the machine on which the node's pod is; returns its name."""

    def uncordon(self, node: str) -> None:
        """Undo that. Idempotent."""

    def cordoned(self, node: str) -> str | None:
        """Probe: the machine that was cordoned for a node, if it still is."""

    def beside(self, node: str) -> Sequence[str]:
        """Return the nodes whose pods are on the machine of this one's now, itself among them."""


class MachineBoot(NamedTuple):
    """What has become of a reset: the ids of the boot in which it was asked for and of the one that follows.
    ``failure``: why there is none."""

    before: str
    now: str
    failure: str = ""


@runtime_checkable
class RebootsMachines(ReplacesPods, Protocol):
    """Machines that can be reset, with everything on them."""

    def reboot_machine(self, node: str, within_ns: int) -> str:
        """Reset the machine on which the node is, and return its name: its page cache is lost. Returns when what runs
        on it stands still; ``within_ns`` is how long the machine may take."""

    def boot_of(self, node: str) -> MachineBoot | None:
        """Probe: what has become of the last reset of the node's machine; None: that is not known yet."""

    def why_not_back(self, node: str) -> str | None:
        """Probe: why the machine cannot be used yet after its last reset; None: it can."""

    def beside(self, node: str) -> Sequence[str]:
        """Return the nodes whose pods are on the machine of this one's now, itself among them."""


PRIMITIVES: Final[dict[Primitive, str]] = {
    LosesPower: "power loss",
    LosesPowerAtWrites: "power loss at a chosen write",
    KillsNodes: "kill",
    StopsNodes: "stop",
    ConfiguresNodes: "configuration of a single node",
    WipesDisks: "disk wipe",
    StallsDisks: "stalled disk",
    AppliesRpcRules: "interference by RPC",
    SkewsClocks: "clock skew",
    ExpiresSessions: "expiry of ZooKeeper sessions",
    HostsClientProcesses: "clients in processes of their own",
    RunsCommands: "commands of the user's",
    ReplacesPods: "pods that can be replaced",
    DrainsMachines: "machines that can be drained",
    RebootsMachines: "machines that can be reset",
    **{primitive: one.title for primitive, one in of_machines.MACHINE_PRIMITIVES.items()},
}
"""Every primitive, as messages to users name it."""

IN_VIRTUAL_TIME: Final = "only the simulator stops a node between two writes"
"""Why no other backend has :class:`LosesPowerAtWrites`."""
BY_THE_USER: Final = (
    "they run on the user's own machine, by 'highwater run' with --backend attach or local, and --allow-external"
)
"""Why no other backend has :class:`RunsCommands`."""


_IMPLEMENTED_BY: Final[dict[type[Any], frozenset[Primitive]]] = {}
"""What :func:`implemented_by` has found out: a schedule asks at each draw."""


def implemented_by(backend: type[Any]) -> frozenset[Primitive]:
    """The primitives of which a class of backends has all the methods."""
    known = _IMPLEMENTED_BY.get(backend)
    if known is None:
        known = frozenset(primitive for primitive in PRIMITIVES if issubclass(backend, primitive))
        _IMPLEMENTED_BY[backend] = known
    return known
