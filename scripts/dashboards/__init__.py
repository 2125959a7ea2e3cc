"""The Grafana dashboards that ship: ``python -m scripts.dashboards`` writes them; a test compares.

They are written to the chart and, since kustomize reads no files from outside its folder, beside the manifests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from .campaign import CAMPAIGN
from .cluster import CLUSTER
from .experiment import EXPERIMENT
from .grafana import build
from .operator import OPERATOR
from .partitions import PARTITIONS
from .quorum import QUORUM
from .zookeeper import ZOOKEEPER

__all__ = ["BOARDS", "FOLDER", "build"]

_ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = _ROOT / "manifests" / "components" / "monitoring"
"""The chart links to the files that lie there."""
BOARDS: Final = (CLUSTER, PARTITIONS, QUORUM, ZOOKEEPER, EXPERIMENT, OPERATOR, CAMPAIGN)
