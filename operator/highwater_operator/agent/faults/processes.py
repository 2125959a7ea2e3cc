"""``kill`` and ``stop``: what ends the processes of a pod's node.

All processes of the container are meant: a JVM's launcher, a node's helpers. The kubelet restarts the container; the
new one is another container and never hit by what was meant for the old one. A node that is to stay down for a while
waits, in its new container, for a file to go that was there before the old one was killed (:func:`bar`). A pod of other
software reads no such file: its control group is frozen once its node is dead (:func:`freeze`).
"""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Final, Literal

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.process.frozen_group import FrozenGroup
from highwater_chaos.machine.process.start_barrier import StartBarrier
from highwater_operator.agent.containers import Container, node_container, running_node
from highwater_operator.agent.faults.base import Context, DownFault
from highwater_operator.agent.places import CONTROL_VOLUME, HOLD_FILES, volume_directory
from highwater_operator.agent.records import Evidence
from highwater_operator.agent.refusals import RefusalError

_STOPS_WITHIN: Final = 75.0
_FROZEN_WITHIN: Final = 15.0


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


def group_of(context: Context) -> FrozenGroup:
    """The control group of a pod of other software, by which its node is kept down.

    Raises:
        RefusalError: 422 where it cannot be frozen; 409 where it is: the end of one fault would be that of another.
    """
    try:
        group = FrozenGroup.of(context.pod.uid)
    except MachineError as error:
        raise RefusalError(
            422,
            f"the node of pod {context.name} could not be kept down: {error}",
            expected="a control group of the pod that can be frozen",
            found="none",
        ) from error
    if (left := group.left()) is not None:
        what = f"the node of pod {context.name} is kept down by another fault"
        raise RefusalError(409, what, expected="a node that runs", found=left)
    return group


def freeze(context: Context, group: FrozenGroup) -> Evidence:
    """Keep whatever the kubelet starts in a pod from beginning, now that its node has ended. What it has started since
    is killed. Once the deadline has passed nothing is kept. Raises ``MachineError``: the group does not freeze."""
    until = time.monotonic() + _FROZEN_WITHIN
    while context.lasts_ns > 1:
        held = context.run.make(group, lasts_ns=context.lasts_ns, tag=context.id)
        container = node_container(context.pod)
        if container is None:
            saw = f"{group.describe()}: what the kubelet starts in pod {context.name} waits"
            return Evidence(saw, group.left() is not None, details={"frozen": group.group})
        # It began before the group was frozen. What is frozen does not die in version 1.
        context.run.undo(held)
        if time.monotonic() > until:
            raise MachineError(f"the kubelet starts container {container.id[:12]} of pod {context.name} too fast")
        kill(context, container)
    return Evidence(f"the deadline passed before the node of pod {context.name} had ended; it is not kept down")


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
