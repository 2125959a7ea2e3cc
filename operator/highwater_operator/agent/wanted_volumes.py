"""Which crashable volume a pod of a LogCluster asks for: read from its labels and annotations, which are anybody's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kubernetes.utils.quantity import parse_quantity

from highwater_chaos.kube.kinds import (
    VOLUME_CLUSTER_UID,
    VOLUME_CRASHABLE,
    VOLUME_FILE_SYSTEM,
    VOLUME_GENERATION,
    VOLUME_NODE,
    VOLUME_PINNED,
    VOLUME_SIZE,
    VOLUME_WHEN_DELETED,
)
from highwater_chaos.machine.disk.volumes import FileSystem
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.requests import LARGEST
from highwater_operator.agent.volumes import RETAIN, VolumeRecord

_LONGEST_SIZE: Final = 64


def wanted_by(pod: Pod) -> VolumeRecord | None:
    """The volume that a pod asks for by labels or annotations; None: none.

    Raises:
        ValueError: for a size or a file system that cannot be read.
    """
    declared = pod.labels | pod.annotations
    if declared.get(VOLUME_CRASHABLE) != "true":
        return None
    if declared.get(VOLUME_PINNED) == "true" and declared.get(VOLUME_NODE) != pod.node:
        return None  # the operator writes down first where it is: until then, and elsewhere, there must be none
    kind = declared.get(VOLUME_FILE_SYSTEM, "ext4")
    if kind not in ("ext4", "xfs"):
        raise ValueError(f"{VOLUME_FILE_SYSTEM} must be ext4 or xfs, not {kind!r}")
    file_system: FileSystem = "xfs" if kind == "xfs" else "ext4"
    size = _size(declared.get(VOLUME_SIZE, "1Gi"))
    cluster = declared.get(VOLUME_CLUSTER_UID, "")
    retain = declared.get(VOLUME_WHEN_DELETED) == RETAIN
    generation = declared.get(VOLUME_GENERATION, "0")
    if not generation.isdecimal() or len(generation) > 9:
        raise ValueError(f"{VOLUME_GENERATION} must be a number, not {generation[:60]!r}")
    record = VolumeRecord(pod.volume, size, file_system, pod.user, pod.group, cluster=cluster, retain=retain)
    return replace(record, generation=int(generation))


def _size(text: str) -> int:
    # Compared as it is: an int of 1e999999999 would take hours to make.
    shown = text[:_LONGEST_SIZE]
    wrong = f"{VOLUME_SIZE} must be a size such as 1Gi, more than 0 and at most {LARGEST} bytes, not {shown!r}"
    if len(text) > _LONGEST_SIZE:
        raise ValueError(wrong)
    try:
        size: Any = parse_quantity(text)  # type: ignore[no-untyped-call]
        fits = size.is_finite() and 1 <= size <= LARGEST
    except (ValueError, ArithmeticError) as error:
        raise ValueError(wrong) from error
    if not fits:
        raise ValueError(wrong)
    return int(size)
