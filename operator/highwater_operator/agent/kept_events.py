"""The event files of pods that are being deleted.

The kubelet removes a pod's files soon after its last process has ended, and a runner asks for what a node wrote last a
moment later. So an open file is kept of each pod of a LogCluster from when it is to be deleted, for some minutes: until
it is closed the kernel keeps what is in it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent.pod_files import Piece, open_kept_events, piece_of
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.refusals import RefusalError

KEPT_S: Final = 600.0
MOST: Final = 64
"""Files at a time; the oldest is closed for another one."""


class _Kept(NamedTuple):
    pod: Pod
    fd: int
    since: float


class KeptEvents:
    """Any thread may call. ``readable``: raises ``RefusalError`` for a pod that the agent must not look at."""

    def __init__(self, kubelet: Path, readable: Callable[[Pod], Pod], kept_s: float = KEPT_S) -> None:
        self._kubelet = kubelet
        self._readable = readable
        self._kept_s = kept_s
        self._busy = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        """By uid, the oldest first."""

    def look_at(self, pod: Pod) -> None:
        """A pod has changed: keep its file, if it is to be deleted and has one."""
        with self._busy:
            if not pod.deleting or pod.uid in self._kept:
                return
        with suppress(RefusalError, MachineError, OSError):
            fd = open_kept_events(self._readable(pod), self._kubelet)
            with self._busy:
                if pod.uid in self._kept:
                    os.close(fd)
                else:
                    self._kept[pod.uid] = _Kept(pod, fd, time.monotonic())
        self._close_old()

    def pod(self, namespace: str, name: str, uid: str | None) -> Pod | None:
        """The pod of that name and uid whose file is kept."""
        self._close_old()
        with self._busy:
            found = None if uid is None else self._kept.get(uid)
        return found.pod if found is not None and (found.pod.namespace, found.pod.name) == (namespace, name) else None

    def read(self, pod: Pod, offset: int) -> Piece | None:
        """As :func:`.pod_files.events`; None: its file is not kept. Raises as that does."""
        with self._busy:
            if (found := self._kept.get(pod.uid)) is None:
                return None
            fd = os.dup(found.fd)
        return piece_of(fd, pod, offset)

    def close(self) -> None:
        with self._busy:
            for one in self._kept.values():
                os.close(one.fd)
            self._kept.clear()

    def _close_old(self) -> None:
        now = time.monotonic()
        with self._busy:
            for number, (uid, one) in enumerate(reversed(list(self._kept.items()))):
                if number >= MOST or now - one.since > self._kept_s:
                    del self._kept[uid]
                    os.close(one.fd)
