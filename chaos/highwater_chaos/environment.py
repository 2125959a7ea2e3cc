"""The software and the machine that a run ran on, for those who read its report elsewhere."""

from __future__ import annotations

import os
import platform
from importlib import metadata


def environment() -> dict[str, str]:
    """Name and value of each fact, in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "Highwater": metadata.version("highwater"),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(cores),
    }
