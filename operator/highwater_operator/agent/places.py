"""Paths and ports inside a node's pod: a copy of the operator's constants (:mod:`highwater_operator.objects`).

They are not imported from there because the whole harness would come with them, and an agent that comes back after a
crash has faults to heal before anything else. A test holds the two together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

ADMIN_PORT: Final = 9404
DATA_PATH: Final = "/var/lib/highwater/data"
VOLUME_PATH: Final = "/var/lib/highwater/volume"
"""Where a pod has an empty directory for its crashable volume, and sees the volume once it is attached."""
EVENTS_PATH: Final = "/var/lib/highwater/events"
CONTROL_PATH: Final = "/run/highwater"
HOLD_FILES: Final = f"{CONTROL_PATH}/hold-"
EVENTS_VOLUME: Final = "events"
CONTROL_VOLUME: Final = "control"
"""The emptyDirs behind these paths, by which they can be reached while the node is down."""


def volume_directory(kubelet: Path, uid: str, volume: str) -> Path:
    """Where the kubelet keeps an emptyDir of a pod."""
    return kubelet / "pods" / uid / "volumes" / "kubernetes.io~empty-dir" / volume
