"""A node that is a pod of others, as it was seen last."""

from __future__ import annotations

from dataclasses import dataclass

from highwater_chaos.backends.attach.watcher import Watcher
from highwater_chaos.backends.kubernetes.foreign.pods import PodOf
from highwater_chaos.backends.kubernetes.pod_nodes import PodNode
from highwater_chaos.kube.kinds import Json
from highwater_chaos.machine.faults.pauses import Pause


@dataclass(slots=True)
class Guess:
    """Whether what is done to a pod shows in the broker whose pod it is said to be: a process that is dead or stands
    still answers nothing that is asked from then on."""

    shown: bool | None = None
    """None: nothing was done to it."""
    answered: bool = False
    _since: int | None = None

    @classmethod
    def of(cls, pod_of: PodOf) -> Guess | None:
        """Return one where it is guessed."""
        return cls() if pod_of.guessed else None

    def look(self, held: bool, watcher: Watcher, broker: int) -> None:
        """``held``: whether the pod is down or paused by a fault now."""
        if not held:
            self._since = None
        elif self._since is None:
            self._since, self.shown = watcher.round, bool(self.shown)
        else:
            asked, answered = watcher.heard.get(broker, (0, False))
            if asked > self._since:
                self.shown = True
                self.answered |= answered

    def inconclusive_reason(self, name: str, pod: str) -> str | None:
        """Return what the run cannot be judged for."""
        if self.answered:
            return f"pod {pod} was taken for that of {name} by its index, but {name} answered while a fault held it"
        if self.shown is False:
            return f"pod {pod} was taken for that of {name} by its index, and no fault of it showed in the broker"
        return None


@dataclass(slots=True, kw_only=True)
class ForeignNode(PodNode):
    """``names``: under which the cluster knows it: a broker, a controller, or both in one process. ``life``: pod and
    container that run now, None: none does. ``over``: the one before, which the API server shows until the kubelet has
    said that it has ended. ``guess``: that it is a broker's by its index alone."""

    names: tuple[str, ...]
    container: str
    life: tuple[str, str] | None = None
    over: tuple[str, str] | None = None
    incarnation: int = 1
    ending: str | None = None
    pod: Json
    guess: Guess | None = None

    @property
    def held(self) -> bool:
        """Return whether a fault keeps it down, or paused."""
        paused = self.faults.get(Pause)
        return bool(self.down) or (paused is not None and not paused.healed)

    def changes(self, life: tuple[str, str] | None) -> bool:
        """Whether what the API server shows is new, and not the life that is over."""
        return life != self.life and (life is None or life != self.over)

    def end(self) -> None:
        """Note that its life is over."""
        self.life, self.over = None, self.life
