"""``python -m highwater_lab``: the laboratory's command line, with the exit statuses of ``highwater``."""

from __future__ import annotations

from highwater_chaos.cli import main
from highwater_lab.command import command_line

if __name__ == "__main__":
    main(made=command_line)
