"""The screen of a run in progress: phases, clients, faults in force, leaders and ISRs, assertions.

The thread of the run draws it a few times a second, between two turns, so it always shows one moment. Only changed
parts are drawn again. A resized terminal is filled at the next drawing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.backends.view import ClusterView, PartitionView
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.experiment import Assertion
from highwater_chaos.experiment.nodes import broker_names, quorum_names
from highwater_chaos.faults import FaultRecord
from highwater_chaos.run.live import LiveRun
from highwater_runtime.ports import SECOND

_EVERY_S: Final = 0.25
_ASSERTIONS_EVERY_S: Final = 2.0
_PHASES: Final = ("setup", "steady", "fault", "recovered", "final")
_CLUSTER_PHASES: Final = ("Pending", "SettingUp", "Steady", "Injecting", "Recovering", "Judging")
SHOWN_PHASES: Final = frozenset((*_PHASES, *_CLUSTER_PHASES))
"""Phases of runs and of experiments on Kubernetes, which the picture names by itself."""
_RATE_OVER_NS: Final = 5 * SECOND
_BARS: Final = " ▁▂▃▄▅▆▇█"
_MOST_BARS: Final = 40
_FAULTS_SHOWN: Final = 8
_ASSERTIONS_SHOWN: Final = 8
_FEWEST_PARTITIONS: Final = 3
_MS: Final = 1_000_000
_WELL: Final = 2
"""A partition without trouble."""
_STATES: Final = {"intent": "begins", "done": "in force", "undone": "healed", "failed": "did not take hold"}


class _Counted(NamedTuple):
    """What clients had come to at a time."""

    at_ns: int
    offered: int
    acknowledged: int
    read: int
    waited_ns: int


class Screen:
    """The picture of one run.

    Args:
        title: what runs, in a line.
        console: a terminal.
    """

    def __init__(self, title: str, console: Console) -> None:
        self._title = title
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._next = 0.0
        self._next_assertions = 0.0
        self._assertions: dict[str, bool | None] = {}
        self._counted: deque[_Counted] = deque()
        self._bars: deque[float] = deque(maxlen=_MOST_BARS)

    def turn(self, run: LiveRun) -> None:
        """Draw the run, unless that was done a moment ago."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_S
        if now >= self._next_assertions:
            self._next_assertions = now + _ASSERTIONS_EVERY_S
            for assertion in run.experiment.spec.assertions:
                self.look_at(assertion, run)
        self._draw(self.picture(run))

    def look_at(self, assertion: Assertion, run: LiveRun) -> None:
        """Find out whether the assertion holds now, if this is its phase."""
        if assertion.during == run.phase:
            # Imported here: NumPy and PyArrow, which a run without assertions needs no sooner than its verdict.
            from highwater_chaos.assertions.recorded import holds_at_last  # noqa: PLC0415

            self._assertions[assertion.name] = holds_at_last(assertion, run.samples)

    def status(self, status: Mapping[str, Any], cluster: Mapping[str, Any]) -> None:
        """Draw an experiment on Kubernetes: its status and that of its LogCluster."""
        self._draw(Group(*status_lines(self._title, status, cluster)))

    def close(self) -> None:
        """Give the terminal back, as it was. Idempotent."""
        self._live.stop()

    def picture(self, run: LiveRun) -> RenderableType:
        """Return the run as of now."""
        above = [
            *_header(self._title, run),
            self._clients(run),
            _nodes(run),
            *_faults(run.faults, run.now_ns()),
            *self._assertion_lines(run),
        ]
        room = max(_FEWEST_PARTITIONS, self._console.size.height - _height(above, self._console) - 3)
        return Group(*above, *_partitions(run.view, room))

    def _draw(self, picture: RenderableType) -> None:
        if not self._live.is_started:
            self._live.start()
        self._live.update(picture, refresh=True)

    def _clients(self, run: LiveRun) -> Text:
        status, now = run.clients(), run.now_ns()
        counted = _Counted(now, status.offered, status.acknowledged, status.read, status.waited_ns)
        if self._counted and now - self._counted[-1].at_ns >= SECOND // 2:
            before = self._counted[-1]
            self._bars.append((counted.acknowledged - before.acknowledged) * SECOND / (now - before.at_ns))
        if not self._counted or now - self._counted[-1].at_ns >= SECOND // 2:
            self._counted.append(counted)
        while len(self._counted) > 1 and now - self._counted[1].at_ns > _RATE_OVER_NS:
            self._counted.popleft()
        first = self._counted[0]
        passed, acknowledged = now - first.at_ns, counted.acknowledged - first.acknowledged
        line = Text("clients    ", style="bold")
        line.append(f"{counted.acknowledged:,} acknowledged", style="not bold")
        if passed > 0:
            rates = [
                f"{(counted.offered - first.offered) * SECOND / passed:,.0f}/s offered",
                f"{acknowledged * SECOND / passed:,.0f}/s acknowledged",
                f"{(counted.read - first.read) * SECOND / passed:,.0f}/s read",
            ]
            line.append(", " + ", ".join(rates), style="not bold")
        if acknowledged:
            mean = (counted.waited_ns - first.waited_ns) / acknowledged / _MS
            line.append(f", {mean:,.1f} ms mean latency", style="not bold")
        if top := max(self._bars, default=0.0):
            bars = "".join(_BARS[ceil(rate / top * (len(_BARS) - 1))] for rate in self._bars)
            line.append(f"\n           {bars}", style="not bold cyan")
        return line

    def _assertion_lines(self, run: LiveRun) -> list[RenderableType]:
        lines: list[RenderableType] = []
        for assertion in run.experiment.spec.assertions[:_ASSERTIONS_SHOWN]:
            known = assertion.name in self._assertions
            now = self._assertions.get(assertion.name)
            word, style = {
                True: ("true now", "green"),
                False: ("not true now", "yellow"),
                None: ("no samples yet", "dim") if known else (f"in phase {assertion.during}", "dim"),
            }[now]
            if known and assertion.during != run.phase:
                word, style = "its phase is over", "dim"
            lines.append(Text.assemble("           ", f"{assertion.name}: ", (word, style)))
        if lines:
            lines.insert(0, Text("assertions", style="bold"))
        if (more := len(run.experiment.spec.assertions) - _ASSERTIONS_SHOWN) > 0:
            lines.append(Text(f"           and {more} more", style="dim"))
        return lines


def _header(title: str, run: LiveRun) -> list[RenderableType]:
    now = run.now_ns()
    spent, allowed = format_duration(now // SECOND * SECOND), format_duration(run.experiment.spec.timeout)
    about = f"  {run.backend}, seed {run.experiment.spec.seed}, {spent} of at most {allowed}"
    first = Text.assemble((title, "bold"), about)
    return [first, _phases(_PHASES, run.phase, f" {format_duration((now - run.phase_began_ns) // SECOND * SECOND)}")]


def _phases(phases: Sequence[str], current: str, spent: str = "") -> Text:
    line = Text()
    reached = phases.index(current) if current in phases else len(phases)
    for index, phase in enumerate(phases):
        if index:
            line.append(" > ", style="dim")
        if index == reached:
            line.append(phase + spent, style="bold reverse")
        else:
            line.append(phase, style="green" if index < reached else "dim")
    return line


def _nodes(run: LiveRun) -> Text:
    controller = run.view.active_controller()
    line = Text("nodes      ", style="bold")
    for name in (*quorum_names(run.experiment.cluster), *broker_names(run.experiment.cluster)):
        state, style = _node_state(run, name)
        mark = "*" if name == controller else ""
        line.append(f"{name}{mark}", style="not bold")
        line.append(f" {state}  " if state else "  ", style=f"not bold {style}")
    line.append("(* active controller)" if controller else "no active controller", style="not bold dim")
    return line


def _node_state(run: LiveRun, name: str) -> tuple[str, str]:
    """Return a word, empty if all is well, and its style."""
    state = run.node_state(name)
    if state is not NodeState.UP:
        return state.name.lower(), "red"
    role, _, number = name.rpartition("-")
    if role == "broker" and not run.view.is_unfenced(int(number)):
        return "fenced", "yellow"
    return "", ""


def _faults(faults: Sequence[FaultRecord], now_ns: int) -> list[RenderableType]:
    over = [fault for fault in faults if fault.healed]
    left = [fault for fault in faults if not fault.healed and fault.error is None]
    failed = sum(fault.error is not None for fault in faults)
    counts = f"{len(left)} in force, {len(over)} healed" + (f", {failed} did not take hold" if failed else "")
    lines: list[RenderableType] = [Text.assemble(("faults     ", "bold"), counts)]
    for fault in left[-_FAULTS_SHOWN:]:
        what = f"{fault.name} ({fault.kind})" if fault.name and fault.name != fault.kind else fault.kind
        where = ", ".join(fault.targets)
        lines.append(
            Text.assemble("           ", (what, "red"), f" {where}" if where else "", f"  {_left(fault, now_ns)}")
        )
    if (more := len(left) - _FAULTS_SHOWN) > 0:
        lines.append(Text(f"           and {more} more", style="dim"))
    return lines


def _left(fault: FaultRecord, now_ns: int) -> str:
    if fault.injected_ns is None:
        return "is being injected"
    if fault.heal_started_ns is not None:
        return "is being healed"
    since = format_duration(max(0, now_ns - fault.injected_ns) // SECOND * SECOND)
    if fault.deadline_ns is None:
        return f"for {since}"
    return f"for {since}, {format_duration(max(0, fault.deadline_ns - now_ns) // SECOND * SECOND)} left"


def _partitions(view: ClusterView, room: int) -> list[RenderableType]:
    """Return a table of as many partitions as there is room for, those in trouble first."""
    every = sorted(view.partitions.values(), key=lambda one: (_trouble(one), *_by_number(one.partition)))
    if not every:
        return []
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("partition", "leader", "ISR", "not in ISR", "epoch", "HW"):
        table.add_column(name, justify="left" if name == "partition" else "right", no_wrap=True)
    for one in every[:room]:
        missing = [replica for replica in one.replicas if replica not in one.isr]
        table.add_row(
            one.partition,
            Text("none", style="bold red") if one.leader < 0 else str(one.leader),
            _numbers(one.isr),
            Text(_numbers(missing), style="yellow"),
            str(one.leader_epoch),
            f"{one.high_watermark:,}",
        )
    left = every[room:]
    if not left:
        return [table]
    troubled = sum(_trouble(one) < _WELL for one in left)
    return [
        table,
        Text(f"and {len(left)} more, {f'{troubled} in trouble' if troubled else 'all in sync'}", style="dim"),
    ]


def _trouble(one: PartitionView) -> int:
    return 0 if one.leader < 0 else 1 if len(one.isr) < len(one.replicas) else _WELL


def _by_number(partition: str) -> tuple[str, int]:
    topic, _, index = partition.rpartition("-")
    return topic, int(index)


def _numbers(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def _height(lines: Sequence[RenderableType], console: Console) -> int:
    return sum(len(console.render_lines(line, pad=False)) for line in lines)


def status_lines(title: str, status: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[RenderableType]:
    """Return the picture of an experiment on Kubernetes: ``status`` of the ChaosExperiment, and of its LogCluster."""
    lines: list[RenderableType] = [Text(title, style="bold"), _phases(_CLUSTER_PHASES, str(status.get("phase", "")))]
    ready = [
        f"{what} {cluster[field]}"
        for what, field in (
            ("brokers", "brokersReady"),
            ("controllers", "controllersReady"),
            ("ZooKeeper servers", "zookeepersReady"),
        )
        if cluster.get(field)
    ]
    if ready:
        controller = cluster.get("activeController")
        ready.append("no active controller" if controller is None else f"active controller {controller}")
        behind = cluster.get("underReplicatedPartitions")
        ready.append("" if behind is None else f"{behind} partitions under-replicated")
        lines.append(Text.assemble(("cluster    ", "bold"), ", ".join(filter(None, ready))))
    counts = status.get("faults") or {}
    said = ", ".join(f"{counts.get(name, 0)} {name}" for name in ("planned", "injected", "confirmed", "healed"))
    lines.append(Text.assemble(("faults     ", "bold"), said))
    for step in (status.get("journal") or [])[-_FAULTS_SHOWN:]:
        style = {"done": "red", "failed": "yellow"}.get(step["state"], "dim")
        state = _STATES.get(step["state"], step["state"])
        line = Text.assemble("           ", (f"{step['step']}: {state}", style))
        line.no_wrap, line.overflow = True, "ellipsis"
        lines.append(line)
    if reason := status.get("reason"):
        lines.append(Text(str(reason), style="yellow"))
    return lines
