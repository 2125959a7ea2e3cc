"""A hard reset of this machine by its kernel (``sysrq b``): nothing is synced, no program is asked, no file system is
unmounted. What only the page cache had is lost, as with the power.

Nothing undoes it, so it is no :class:`~.resource.Resource`: who asks for it sees to it that this machine may be reset.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError

TRIGGER: Final = Path("/proc/sysrq-trigger")
_OBEYS_WITHIN: Final = 5.0


def why_no_reset() -> str | None:
    """Why this process could not reset the machine; None: it could."""
    if os.access(TRIGGER, os.W_OK):
        return None
    return f"{TRIGGER} cannot be written to: expected root in a privileged container, and CONFIG_MAGIC_SYSRQ"


def reset_machine() -> None:
    """Reset it; does not return if the kernel obeys.

    Raises:
        MachineError, OSError: it was not reset.
    """
    fd = os.open(TRIGGER, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"b")
    finally:
        os.close(fd)
    time.sleep(_OBEYS_WITHIN)
    raise MachineError(f"the kernel has not reset the machine {_OBEYS_WITHIN:g} s after it was asked to")
