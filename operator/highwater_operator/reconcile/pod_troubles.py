"""Why a pod does not run, in the words of the scheduler, the kubelet and its own program.

A pod's status names most causes. What a kubelet cannot mount (a Secret that is missing, say) is in Events about the pod
and nowhere else: they are asked for only while its containers are being created. So is a crashable volume that the
node's agent refuses, for which a container waits that runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from highwater_chaos.kube.kinds import AGENT_COMPONENT, Json
from highwater_runtime.log_lines import plain_text

_FATAL_WAITS: Final = frozenset(
    {
        "CrashLoopBackOff",
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "ImageInspectError",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)
_OF_RUNNING: Final = frozenset({"Unhealthy"})
"""Reasons of warnings about containers that run: the pod's status says so a moment later."""
_CREATING: Final = frozenset({"ContainerCreating", "PodInitializing"})
_LONGEST_LINE: Final = 300
_WORD: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
"""A condition's reason."""
_NOT_IN_WORDS: Final = re.compile(r"[^A-Za-z0-9]+")


class Trouble(NamedTuple):
    """Why a pod will hardly run by itself: a CamelCase word, and words for people (may be empty)."""

    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


def trouble_of(pod: Json) -> Trouble | None:
    """Return what is wrong by the pod's own status; None if nothing is."""
    status = pod.get("status") or {}
    for one in status.get("conditions") or []:
        if (one["type"], one["status"], one.get("reason")) == ("PodScheduled", "False", "Unschedulable"):
            return Trouble("Unschedulable", one.get("message") or "")
    for container in _containers(pod):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in _FATAL_WAITS:
            continue
        messages = [waiting.get("message") or ""]
        if (ended := last_end(container)) is not None:
            messages.insert(0, ended)
        elif container.get("image") and container["image"] not in messages[0]:
            messages.insert(0, f"image {container['image']}")
        return Trouble(waiting["reason"], "; ".join(one for one in messages if one))
    return None


def is_creating(pod: Json) -> bool:
    """Whether a node has the pod and none of its containers has been created: Events may tell why."""
    if (pod.get("status") or {}).get("phase", "Pending") != "Pending" or not (pod.get("spec") or {}).get("nodeName"):
        return False
    waits = [((one.get("state") or {}).get("waiting") or {}).get("reason") for one in _containers(pod)]
    return all(reason in _CREATING for reason in waits)


def warning_in_events(events: Iterable[Json]) -> Trouble | None:
    """The latest warning of those about a pod whose containers are being created."""
    warnings = [
        one for one in events if one.get("type") == "Warning" and one.get("reason") and one["reason"] not in _OF_RUNNING
    ]
    if not warnings:
        return None
    latest = max(warnings, key=time_of)
    return Trouble(_word(str(latest["reason"])), str(latest.get("message") or ""))


def refused_volume(events: Iterable[Json]) -> Trouble | None:
    """Why the node's agent makes no crashable volume for a pod whose container waits for it; None: it did since."""
    said = [one for one in events if (one.get("source") or {}).get("component") == AGENT_COMPONENT]
    if not said or (latest := max(said, key=time_of)).get("type") != "Warning":
        return None
    return Trouble(_word(str(latest.get("reason"))), str(latest.get("message") or ""))


def _word(reason: str) -> str:
    """An Event's reason as a condition takes it: Kubernetes takes any text."""
    if _WORD.fullmatch(reason):
        return reason
    word = "".join(part[0].upper() + part[1:] for part in _NOT_IN_WORDS.split(reason) if part)
    return word if word[:1].isalpha() else f"Warning{word}"


def end_of(pod: Json) -> str | None:
    """How a pod ended: evicted, out of memory, or by its program's exit status and last line. None: it did not fail."""
    status = pod.get("status") or {}
    if status.get("reason"):
        return f"{status['reason']}: {status.get('message', '')}"
    for one in _containers(pod):
        if (ended := _termination((one.get("state") or {}).get("terminated") or {})) is not None:
            return ended
    return None


def last_end(container: Json) -> str | None:
    """How the container ended before it was started, or is to be started, again. None: it never failed."""
    return _termination((container.get("lastState") or {}).get("terminated") or {})


def time_of(event: Json) -> str:
    """When it was last so, as text that sorts: to the second."""
    series = event.get("series") or {}
    found = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime") or ""
    return str(found)[:19]


def _termination(ended: Json) -> str | None:
    if not ended.get("exitCode"):
        return None
    lines = str(ended.get("message") or "").strip().splitlines()
    last = f": {plain_text(lines[-1])[:_LONGEST_LINE]}" if lines else ""
    return f"{ended.get('reason') or 'Error'}, exit status {ended['exitCode']}{last}"


def _containers(pod: Json) -> list[Json]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
