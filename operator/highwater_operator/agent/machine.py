"""The agent's machine as a whole: whether it may be reset, what must be on its disk before, and whether it is back.

A reset hits every pod of the machine, whosever they are. So an administrator allows it by a label of the Node; and a
machine whose kernel is that of another node, or of the control plane, is never reset. Nodes of kind are such: they all
have one boot id.

What nodes of LogClusters did last is evidence, and their files of events are in the page cache, which is lost. So
all of their processes stand still first, and then these files are made durable, and nothing else is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import NODE, REBOOT_ALLOWED, REBOOT_LABEL, Json
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_chaos.machine.kernel.reset import why_no_reset
from highwater_operator.agent.pod_files import open_kept_events
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.refusals import RefusalError

_OF_THE_CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


class Machine:
    """Any thread may call.

    Args:
        node: the name of its Node.
        api: needs get and list of nodes.
        nodes: pods of LogClusters that are on it. Raises ``RefusalError``: that is not known.
        kubelet: where the kubelet keeps pods' volumes.
    """

    def __init__(self, node: str, api: Kube, nodes: Callable[[], list[Pod]], kubelet: Path) -> None:
        self.node = node
        self._api = api
        self._nodes = nodes
        self._kubelet = kubelet

    def nodes(self) -> list[Pod]:
        """Return the pods of LogClusters on this machine. Raises ``RefusalError``."""
        return self._nodes()

    def ensure_resettable(self) -> str:
        """Return the id of the machine's boot.

        Raises:
            RefusalError: 403 it must not be reset; 409 its Node is not known to be this machine; 422 the kernel cannot;
                503 the API server does not answer.
        """
        every = self._listed()
        own = every.get(self.node)
        labels = {} if own is None else own["metadata"].get("labels") or {}
        found = labels.get(REBOOT_LABEL)
        if found != REBOOT_ALLOWED:
            raise RefusalError(
                403,
                f"node {self.node} does not allow that its machine is reset, with every pod on it",
                expected=f"kubectl label node {self.node} {REBOOT_LABEL}={REBOOT_ALLOWED}",
                found="no such label" if found is None else f"{REBOOT_LABEL}={found[:63]}",
            )
        if roles := [one for one in _OF_THE_CONTROL_PLANE if one in labels]:
            what = f"node {self.node} is of the control plane, which is never reset"
            raise RefusalError(403, what, expected="a worker", found=roles[0])
        boot = boot_id()
        if own is None or _boot_of(own) != boot:
            what = f"node {self.node} is not known to be this machine: its kubelet reports another boot"
            raise RefusalError(409, what, expected=f"boot {boot}", found=f"boot {'' if own is None else _boot_of(own)}")
        if shared := sorted(name for name, one in every.items() if name != self.node and _boot_of(one) == boot):
            what = f"the machine of node {self.node} is that of other nodes, too, and is never reset"
            raise RefusalError(403, what, expected="a kernel of its own", found=f"that of {', '.join(shared)[:200]}")
        if (why := why_no_reset()) is not None:
            raise RefusalError(422, f"node {self.node} cannot be reset", expected="a kernel that resets", found=why)
        return boot

    def sync_events(self, pod: Pod) -> None:
        """Make the file of a pod's events durable; nothing if there is none. Raises ``MachineError``, ``OSError``."""
        try:
            fd = open_kept_events(pod, self._kubelet)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def why_not_ready(self) -> str | None:
        """Why the Node is not Ready in the present boot; None: it is."""
        try:
            own = self._listed().get(self.node)
        except RefusalError as refusal:
            return str(refusal)
        if own is None:
            return f"there is no node {self.node} any more"
        if _boot_of(own) != boot_id():
            return f"the kubelet of node {self.node} has not reported its new boot yet"
        conditions = (own.get("status") or {}).get("conditions") or []
        ready = next((str(one.get("status")) for one in conditions if one.get("type") == "Ready"), "unknown")
        return None if ready == "True" else f"condition Ready of node {self.node} is {ready[:20]}"

    def _listed(self) -> dict[str, Json]:
        try:
            return {str(one["metadata"]["name"]): one for one in self._api.list(NODE, None)}
        except KubeError as error:
            raise RefusalError(503, f"the API server does not show the nodes: {error}") from error


def _boot_of(node: Json) -> str:
    return str(((node.get("status") or {}).get("nodeInfo") or {}).get("bootID") or "")
