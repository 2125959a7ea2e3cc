"""What the machine refuses is no fault of the harness: a full disk, a read-only home, a missing right, a limit."""

from __future__ import annotations

import errno
from typing import Final

from highwater_chaos.cli.exits import Exit

_ELSEWHERE: Final = "choose a place that you can write to (--out, HOME, TMPDIR, HIGHWATER_STATE_DIR)"
_NO_SPACE: Final = "free some space there, or choose another place (--out, HOME, TMPDIR, HIGHWATER_STATE_DIR)"
_WHAT_TO_DO: Final = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EROFS: _ELSEWHERE,
    errno.EACCES: _ELSEWHERE,
    errno.EPERM: _ELSEWHERE,
    errno.ENOTDIR: _ELSEWHERE,
    errno.EIO: "the disk fails; choose another place",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "the machine has no file descriptors left; end other programs",
    errno.ENOMEM: "the machine has no memory left; end other programs",
}
_NO_TMP: Final = "No usable temporary directory"
_NO_HOME: Final = "Could not determine home directory."
"""Beginnings of what Python's tempfile and pathlib raise, which have no types of their own."""
_WITHOUT_A_NAME: Final = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Clear even if the error does not say which file it is about."""


def refusal_of_machine(error: Exception) -> tuple[str, Exit] | None:
    """What to tell the user about an error that no command expected, and the exit status; None: it is a bug."""
    if isinstance(error, OSError) and (advice := _WHAT_TO_DO.get(error.errno or 0)) is not None:
        if error.filename is None and error.errno not in _WITHOUT_A_NAME:
            return None
        return f"{error}; {advice}", Exit.USAGE
    if isinstance(error, FileNotFoundError) and _NO_TMP in str(error):
        return f"{error}; {_ELSEWHERE}", Exit.USAGE
    if isinstance(error, RuntimeError) and _NO_HOME in str(error):
        return f"{error} Set HOME", Exit.USAGE
    from highwater_chaos.machine.errors import MachineError, PlaceError  # noqa: PLC0415 - few commands need it

    match error:
        case PlaceError():
            return str(error), Exit.USAGE
        case MachineError():
            return str(error), Exit.HARNESS
    return None
