"""The command ``highwater``. The distribution without extras has no command line, and says which extra brings it."""

from __future__ import annotations

import sys

from highwater_chaos.base.distribution import missing_extra

_USAGE = 254
"""``Exit.USAGE``, which cannot be imported here: its package needs the extra."""


def main() -> None:
    """Run the command line and leave with its status."""
    try:
        from highwater_chaos.cli import main as command  # noqa: PLC0415 - or it could not be missing
    except ModuleNotFoundError as error:
        if (needed := missing_extra(error)) is None:
            raise
        sys.stderr.write(f"highwater: {needed}\n")
        sys.exit(_USAGE)
    command()


if __name__ == "__main__":
    main()
