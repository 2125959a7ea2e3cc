"""Commands of the contract that this version does not have yet: refused clearly, never ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import typer

from highwater_chaos.cli.exits import UsageError

PLANNED: Final = {
    "campaign": "thousands of seeds on Spark",
    "shrink": "a failing run cut down to a small experiment",
}


def add_planned_commands(app: typer.Typer) -> None:
    """Add a command for each, which says that it is not built yet and exits 254."""
    for name, purpose in PLANNED.items():
        app.command(
            name,
            help=f"Not built yet: {purpose}.",
            context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        )(_refuse(name))


def _refuse(name: str) -> Callable[[], None]:
    def refuse() -> None:
        raise UsageError(f"highwater {name}: not built yet in this version; see 'highwater --help' for what is")

    return refuse
