"""``kill``, ``stop`` and ``pause``: what happens to the processes of a pod's node.

All processes of the container are meant: a JVM's launcher, a node's helpers. The kubelet restarts the container; the
new one is another container and never hit by what was meant for the old one. A node that is to stay down for a while
waits, in its new container, for a file to go that was there before the old one was killed (:func:`bar`).
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from highwater_chaos.machine.pauses import Pause
from highwater_chaos.machine.processes import Process
from highwater_chaos.machine.start_barrier import StartBarrier
from highwater_operator.agent.containers import Container, running_node
from highwater_operator.agent.faults.base import Context, HealContext
from highwater_operator.agent.places import CONTROL_VOLUME, HOLD_FILES, volume_directory
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.requests import KillRequest, PauseRequest, StopRequest

_STOPS_WITHIN: Final = 75.0


def processes_of(container: Container, pod: Pod, run: str) -> Process:
    """A container's processes, as :mod:`highwater_chaos.machine` takes them."""
    return Process(f"{pod.namespace}/{pod.name}", run, container.processes[0], group=container.id)


def kill(context: Context, container: Container) -> Evidence:
    """SIGKILL to all of a container; returns once they are gone."""
    process = processes_of(container, context.pod, context.run.directory)
    process.undo()
    return gone(container)


def gone(container: Container) -> Evidence:
    """Probe: whether all processes of a container that lived are gone."""
    living = [one.pid for one in container.processes if one.state() != "gone"]
    pids = [one.pid for one in container.processes]
    saw = f"processes {living} still live" if living else f"all {len(pids)} processes of the container are gone"
    return Evidence(saw, not living, details={"container": container.id, "pids": pids})


def bar(context: Context, fault: str, kubelet: Path) -> None:
    """Keep the node that the kubelet will start from beginning, on a fault's behalf.

    Raises:
        RefusalError: 409 where the pod's control volume is not to be found.
    """
    directory = volume_directory(kubelet, context.pod.uid, CONTROL_VOLUME)
    if not directory.is_dir():
        raise RefusalError(
            409,
            f"the node of pod {context.pod.namespace}/{context.pod.name} could not be kept down",
            expected=f"its control volume, {directory} (HIGHWATER_KUBELET_DIR says where the kubelet keeps volumes)",
            found="no such directory",
        )
    context.make(StartBarrier(f"{directory}/{Path(HOLD_FILES).name}{fault}"))


@dataclass(frozen=True, slots=True)
class KillKind:
    """Confirmed by the processes being gone."""

    request: KillRequest

    def inject(self, context: Context) -> list[Evidence]:
        """SIGKILL."""
        return [kill(context, running_node(context.pod))]

    def healed(self, context: HealContext) -> list[Evidence]:
        """Starting it again is the kubelet's."""
        del context
        return []

    observe = healed


@dataclass(frozen=True, slots=True)
class StopKind:
    """Confirmed by the processes being gone, without SIGKILL."""

    request: StopRequest

    def inject(self, context: Context) -> list[Evidence]:
        """SIGTERM to the container's first process, as the kubelet does."""
        container = running_node(context.pod)
        container.processes[0].send(signal.SIGTERM)
        deadline = time.monotonic() + min(_STOPS_WITHIN, context.lasts_ns / 1e9)
        for process in container.processes:
            process.wait_gone(max(0.0, deadline - time.monotonic()))
        return [gone(container)]

    def healed(self, context: HealContext) -> list[Evidence]:
        """Starting it again is the kubelet's."""
        del context
        return []

    observe = healed


@dataclass(frozen=True, slots=True)
class PauseKind:
    """Confirmed by the kernel's word for each process."""

    request: PauseRequest

    def inject(self, context: Context) -> list[Evidence]:
        """SIGSTOP."""
        pause = context.make(Pause(processes_of(running_node(context.pod), context.pod, context.run.directory)))
        return _states(pause, "stopped", "inject")

    def healed(self, context: HealContext) -> list[Evidence]:
        pauses = [one for one in context.resources if isinstance(one, Pause)]
        return [saw for pause in pauses for saw in _states(pause, "running", "heal")]

    def observe(self, context: HealContext) -> list[Evidence]:
        """As the kernel has them now."""
        pauses = [one for one in context.resources if isinstance(one, Pause)]
        return [saw for pause in pauses for saw in _states(pause, "stopped", "inject")]


def _states(pause: Pause, wanted: str, phase: str) -> list[Evidence]:
    members = pause.process.members()
    states = {str(member.pid): member.state() for member in members}
    whom = pause.process.name
    inject = phase == "inject"
    if not members:
        return [Evidence(f"no process of {whom} is left", not inject, "inject" if inject else "heal")]
    right = all(state == wanted for state in states.values())
    counts = ", ".join(f"{list(states.values()).count(state)} {state}" for state in sorted(set(states.values())))
    return [Evidence(f"processes of {whom}: {counts}", right, "inject" if inject else "heal", details=states)]
