"""``kill`` and ``stop``: what ends the processes of a pod's node.

All processes of the container are meant: a JVM's launcher, a node's helpers. The kubelet restarts the container; the
new one is another container and never hit by what was meant for the old one. A node that is to stay down for a while
waits, in its new container, for a file to go that was there before the old one was killed (:func:`bar`).
"""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Final, Literal

from highwater_chaos.machine.start_barrier import StartBarrier
from highwater_operator.agent.containers import Container, running_node
from highwater_operator.agent.faults.base import Context, DownFault
from highwater_operator.agent.places import CONTROL_VOLUME, HOLD_FILES, volume_directory
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.refusals import RefusalError

_STOPS_WITHIN: Final = 75.0


def kill(context: Context, container: Container) -> Evidence:
    """SIGKILL to all of a container; returns once they are gone."""
    context.processes_of(container).undo()
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
            f"the node of pod {context.name} could not be kept down",
            expected=f"its control volume, {directory} (HIGHWATER_KUBELET_DIR says where the kubelet keeps volumes)",
            found="no such directory",
        )
    context.make(StartBarrier(f"{directory}/{Path(HOLD_FILES).name}{fault}"))


class Kill(DownFault):
    """SIGKILL. Confirmed by the processes being gone."""

    kind: Literal["kill"]

    def inject(self, context: Context) -> list[Evidence]:
        return [kill(context, running_node(context.pod))]


class Stop(DownFault):
    """SIGTERM to the container's first process, as the kubelet does. Confirmed by the processes being gone, without
    SIGKILL."""

    kind: Literal["stop"]

    def inject(self, context: Context) -> list[Evidence]:
        container = running_node(context.pod)
        container.processes[0].send(signal.SIGTERM)
        deadline = time.monotonic() + min(_STOPS_WITHIN, context.lasts_ns / 1e9)
        for process in container.processes:
            process.wait_gone(max(0.0, deadline - time.monotonic()))
        return [gone(container)]
