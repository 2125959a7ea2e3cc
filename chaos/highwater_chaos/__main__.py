"""The command ``highwater``. The distribution without extras has no command line, and says which extra brings it."""

from __future__ import annotations

from typing import Final

from highwater_chaos.base.distribution import run_command

_USAGE: Final = 254
"""``Exit.USAGE``, which cannot be imported here: its package needs the extra."""


def main() -> None:
    """Run the command line and leave with its status."""
    run_command("highwater", "highwater_chaos.cli", _USAGE)


if __name__ == "__main__":
    main()
