"""The environment of a run: versions and the machine. It helps if another machine gives another result."""

from __future__ import annotations

import os
import platform

from highwater_chaos.base.distribution import installed_version


def environment_here() -> dict[str, str]:
    """Return what this process runs on, by name, in the order in which a report shows it."""
    return {
        "highwater": installed_version(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": str(os.cpu_count() or "unknown"),
        "memory": _memory(),
    }


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"
