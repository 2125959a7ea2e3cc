"""The commands ``highwater-operator`` and ``highwater-agent``, where the extra that they need may be missing."""

from __future__ import annotations

from typing import Final

from highwater_chaos.base.distribution import run_command

_LACKING: Final = 2
"""The exit status of a program whose needs are not met, as where its settings are missing."""


def operator() -> None:
    """Run :func:`highwater_operator.main.main` and leave with its status."""
    run_command("highwater-operator", "highwater_operator.main", _LACKING, extra="operator")


def agent() -> None:
    """Run :func:`highwater_operator.agent.main.main` and leave with its status."""
    run_command("highwater-agent", "highwater_operator.agent.main", _LACKING, extra="agent")
