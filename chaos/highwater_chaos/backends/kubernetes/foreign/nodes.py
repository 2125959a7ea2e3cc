"""A node that is a pod of others, as it was seen last."""

from __future__ import annotations

from dataclasses import dataclass

from highwater_chaos.backends.kubernetes.pod_nodes import PodNode
from highwater_chaos.kube.kinds import Json


@dataclass(slots=True, kw_only=True)
class ForeignNode(PodNode):
    """``names``: under which the cluster knows it: a broker, a controller, or both in one process. ``life``: pod and
    container that run now, None: none does. ``over``: the one before, which the API server shows until the kubelet has
    said that it has ended."""

    names: tuple[str, ...]
    container: str
    life: tuple[str, str] | None = None
    over: tuple[str, str] | None = None
    incarnation: int = 1
    ending: str | None = None
    pod: Json

    def changes(self, life: tuple[str, str] | None) -> bool:
        """Whether what the API server shows is new, and not the life that is over."""
        return life != self.life and (life is None or life != self.over)

    def end(self) -> None:
        """Note that its life is over."""
        self.life, self.over = None, self.life
