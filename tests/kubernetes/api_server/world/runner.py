"""What runs in pods. The miniature node asks a runner to start and stop them, and the runner tells what became of them.

``Instant`` only pretends: a pod is what a test decides that it is, at once. A runner that starts real processes fits in
the same place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from ..errors import Json


class PodHandle(Protocol):
    """How a runner tells what became of a pod. Safe to call from any thread, and about a pod that is gone."""

    pod: Json
    """As it was when it was started."""

    def running(self, *, ready: bool) -> None:
        """Its containers run; ``ready`` is what the readiness probe says."""

    def restarted(self, *, exit_code: int) -> None:
        """Its containers ended and were started again."""

    def finished(self, exit_code: int) -> None:
        """Its containers ended for good: Succeeded with 0, Failed otherwise."""

    def stopped(self) -> None:
        """After ``stop``: the pod may be forgotten."""


class PodRunner(Protocol):
    """Runs pods."""

    def start(self, handle: PodHandle) -> None:
        """A pod was put on a node; returns soon."""

    def stop(self, handle: PodHandle, grace_seconds: int) -> None:
        """A pod is to end; ``handle.stopped()`` once it has."""

    def logs(self, pod: Json, container: str) -> str:
        """What a container has written."""


@dataclass(frozen=True)
class Outcome:
    """What becomes of a pod right after its start."""

    state: Literal["ready", "unready", "pending", "finished"] = "ready"
    exit_code: int = 0


READY = Outcome()
UNREADY = Outcome("unready")
PENDING = Outcome("pending")


def finished(exit_code: int) -> Outcome:
    """It ends at once, as pods of Jobs do."""
    return Outcome("finished", exit_code)


def _default(pod: Json) -> Outcome:
    return READY if pod["spec"].get("restartPolicy", "Always") == "Always" else finished(0)


Key = tuple[str, str]


def key_of(pod: Json) -> Key:
    """Namespace and name."""
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


class Instant:
    """Pods by decision of the test: ``decide`` says what becomes of each, and may be replaced at any time.

    By default pods that restart are ready at once, and pods that do not (of Jobs) succeed at once.
    """

    def __init__(self, decide: Callable[[Json], Outcome] = _default) -> None:
        self.decide = decide
        self.lingers: Callable[[Json], bool] = lambda pod: False
        """Pods that do not end when they are told to, until ``let_go``."""
        self.started: list[Key] = []
        self.stopped: list[Key] = []
        self._handles: dict[Key, PodHandle] = {}
        self._texts: dict[Key, str] = {}
        self._lock = threading.Lock()

    def start(self, handle: PodHandle) -> None:
        with self._lock:
            self._handles[key_of(handle.pod)] = handle
            self.started.append(key_of(handle.pod))
        self._become(handle, self.decide(handle.pod))

    @staticmethod
    def _become(handle: PodHandle, outcome: Outcome) -> None:
        match outcome.state:
            case "ready":
                handle.running(ready=True)
            case "unready":
                handle.running(ready=False)
            case "finished":
                handle.finished(outcome.exit_code)
            case "pending":
                pass

    def stop(self, handle: PodHandle, grace_seconds: int) -> None:
        if not self.lingers(handle.pod):
            self.let_go(*key_of(handle.pod))

    def logs(self, pod: Json, container: str) -> str:
        return self._texts.get(key_of(pod), "")

    # For tests

    def become(self, namespace: str, name: str, outcome: Outcome) -> None:
        """Changes what a pod that runs is."""
        self._become(self._handle(namespace, name), outcome)

    def restart(self, namespace: str, name: str, exit_code: int = 137) -> None:
        """Its containers die and come back, ready."""
        handle = self._handle(namespace, name)
        handle.restarted(exit_code=exit_code)
        handle.running(ready=True)

    def let_go(self, namespace: str, name: str) -> None:
        """Ends a pod that was told to end."""
        with self._lock:
            handle = self._handles.pop((namespace, name), None)
            self.stopped.append((namespace, name))
        if handle is not None:
            handle.stopped()

    def write(self, namespace: str, name: str, text: str) -> None:
        """What ``logs`` will show."""
        self._texts[namespace, name] = self._texts.get((namespace, name), "") + text

    def _handle(self, namespace: str, name: str) -> PodHandle:
        with self._lock:
            handle = self._handles.get((namespace, name))
        if handle is None:
            raise LookupError(f"pod {namespace}/{name} does not run; running: {sorted(self._handles)}")
        return handle
