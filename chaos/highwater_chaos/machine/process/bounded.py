"""``python -m highwater_chaos.machine.process.bounded SECONDS COMMAND…``: runs a command that ends in time.

Whoever started it, and whether that one is still there.

It holds the file descriptors that it inherited, the command does not. So the run's locks stay taken while the command
runs, though the process that started it was killed, and no longer: neither by a command that never ends, nor by what a
command leaves running. It must be the leader of its process group, which is killed when the time is over.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Final

NOT_RUN: Final = 127


def main(arguments: list[str]) -> int:
    """Return the command's exit status, 127 if it cannot be run."""
    try:
        process = subprocess.Popen(arguments[2:])  # noqa: S603 - the user's own command
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{arguments[2]}: cannot be run: {error}\n")
        return NOT_RUN
    try:
        status = process.wait(float(arguments[1]))
    except subprocess.TimeoutExpired:
        os.killpg(0, signal.SIGKILL)
        raise
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv))
