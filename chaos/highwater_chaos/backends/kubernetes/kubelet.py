"""The kubelet's part in a restart, read from a pod's status.

A container that ends is started again by the kubelet: at once the first time, then after 10, 20, 40 s and so on up to
five minutes, unless it ran for ten minutes in between. No other program decides it, and no fault's heal makes it
sooner.
"""

from __future__ import annotations

import re
from typing import Final

from highwater_chaos.backends.protocol import HeldUp
from highwater_chaos.base.words import counted
from highwater_chaos.kube.kinds import Json
from highwater_runtime.ports import SECOND

_REASON: Final = "CrashLoopBackOff"
_MESSAGE: Final = re.compile(r"back-off (?:(?P<minutes>\d+)m)?(?:(?P<seconds>\d+)s)? restarting")
_LONGEST_S: Final = 300


def held_up(pod: Json, container: str) -> HeldUp | None:
    """Why a container of the pod does not run yet, where the kubelet lets it wait."""
    for status in (pod.get("status") or {}).get("containerStatuses") or []:
        waiting = (status.get("state") or {}).get("waiting") or {}
        if status.get("name") == container and waiting.get("reason") == _REASON:
            seconds = _seconds(str(waiting.get("message") or ""))
            after = int(status.get("restartCount") or 0)
            return HeldUp(
                f"the kubelet waits {seconds} s before it starts the container again: {_REASON} after "
                f"{counted(after, 'restart')}",
                seconds * SECOND,
            )
    return None


def _seconds(message: str) -> int:
    """The longest there is where the message does not say it."""
    found = _MESSAGE.search(message)
    if found is None or not any(found.groups()):
        return _LONGEST_S
    return 60 * int(found["minutes"] or 0) + int(found["seconds"] or 0)
