"""A pod's processes and its network, found on the node itself: the agent lives in the machine's own process namespace.

The kernel's control groups say which process is which pod's and which container's
(``control_groups``). The API server knows the container's id too, but hears of a restart
later than it happens; so what is alive decides.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.proc import command_of
from highwater_chaos.machine.network.namespaces import namespace_of
from highwater_chaos.machine.process.control_groups import container_of, group_paths
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.refusals import RefusalError

_NODE_PROGRAMS: Final = (b"highwater-node", b"highwater_runtime", b"kafka.Kafka", b"java")
_PAUSE: Final = "pause"


@dataclass(frozen=True, slots=True)
class Container:
    """A living container: its id and its processes, the first one first."""

    id: str
    processes: tuple[Identity, ...]

    @property
    def root(self) -> Path:
        """Its file system, as seen from here."""
        return Path(f"/proc/{self.processes[0].pid}/root")

    def commands(self) -> list[list[bytes]]:
        """What each of its processes was started with."""
        return [command_of(process.pid) for process in self.processes]


def containers_of(pod: Pod) -> list[Container]:
    """Living containers of a pod, the one that holds its network (``pause``) included."""
    return containers_by_pod([pod]).get(pod.uid.lower(), [])


def containers_by_pod(pods: Iterable[Pod]) -> dict[str, list[Container]]:
    """The same of several pods, by their uids in small letters, in one look at the machine's processes."""
    return containers_by_uid({pod.uid.lower() for pod in pods})


def containers_by_uid(uids: Collection[str]) -> dict[str, list[Container]]:
    """The same by uids in small letters."""
    found: dict[str, dict[str, list[Identity]]] = {}
    for pid, path in group_paths():
        plain = path.replace("_", "-")
        for uid in uids:
            if uid not in plain:
                continue
            container, identity = container_of(path), Identity.of(pid)
            if container is not None and identity is not None:
                found.setdefault(uid, {}).setdefault(container, []).append(identity)
    return {
        uid: [
            Container(container, tuple(sorted(members, key=lambda one: (one.started, one.pid))))
            for container, members in sorted(containers.items())
        ]
        for uid, containers in found.items()
    }


def node_container(pod: Pod) -> Container | None:
    """The living container of the pod's node; None: it has none at the moment."""
    return node_among(pod, containers_of(pod))


def node_among(pod: Pod, containers: Iterable[Container]) -> Container | None:
    """The same, among the pod's living containers."""
    living = [one for one in containers if not _is_pause(one)]
    for container in living:
        if container.id == pod.container:
            return container
    others = {container for name, container in pod.containers.items() if name != pod.chosen} - {""}
    candidates = [one for one in living if one.id not in others]
    # One that has started again has an id that the API server may not know yet: it could be any of several.
    unknown = bool(candidates) and not others <= {one.id for one in living}
    if not pod.containers.keys() - {pod.chosen}:
        candidates = [one for one in living if any(_is_node(command) for command in one.commands())] or living
    if unknown or len(candidates) > 1:
        raise RefusalError(
            409,
            f"pod {pod.namespace}/{pod.name} has several containers and none of them is known to be its node",
            expected=f"container {pod.chosen}, or one container with highwater-node or a JVM in it",
            found=", ".join(one.id[:12] for one in candidates),
        )
    return candidates[0] if candidates else None


def running_node(pod: Pod) -> Container:
    """The same. Raises ``RefusalError`` (409) where there is none."""
    container = node_container(pod)
    if container is None:
        raise RefusalError(
            409,
            f"the node of pod {pod.namespace}/{pod.name} does not run",
            expected=f"a process in a control group of pod {pod.uid}",
            found="none",
        )
    return container


def network_of(pod: Pod) -> str:
    """The pod's network namespace by the kernel's name. What the container runtime starts is in the pod's control group
    before it is in the pod's network, and stays so where the group is frozen: such a process says nothing.

    Raises:
        RefusalError: 409 where none of its processes lives; 422 where it has the machine's own network.
    """
    # The machine's, and the agent's: a container that shares one of them has none of its own.
    shared = (namespace_of(1), namespace_of(os.getpid()))
    pids = [process.pid for container in containers_of(pod) for process in container.processes]
    found = [one for one in map(namespace_of, pids) if one is not None]
    own = [] if pod.host_network else [one for one in found if one not in shared]
    if own:
        return own[0]
    if found:
        raise RefusalError(
            422,
            f"pod {pod.namespace}/{pod.name} lives in the machine's own network, which is never cut",
            expected="a network namespace of the pod's own",
            found="hostNetwork",
        )
    raise RefusalError(
        409, f"nothing of pod {pod.namespace}/{pod.name} runs", expected="a living process", found="none"
    )


def _is_node(command: list[bytes]) -> bool:
    return any(program in word for word in command[:8] for program in _NODE_PROGRAMS)


def _is_pause(container: Container) -> bool:
    commands = [command for command in container.commands() if command]
    return len(commands) == 1 and Path(commands[0][0].decode(errors="replace")).name == _PAUSE
