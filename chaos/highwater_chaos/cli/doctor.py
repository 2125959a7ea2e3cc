"""``highwater doctor``: what this machine can do, and why not."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from highwater_chaos.backends import BACKENDS, NOT_BUILT
from highwater_chaos.engine import available_faults
from highwater_pipeline.java import JavaNotFound, find_java


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: whether it works here, and what was seen or what to do."""

    what: str
    works: bool
    detail: str


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Show what this machine can do: Python, Java for Spark, and the faults of each backend."""
    findings = [_python(), _java(), *_backends()]
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        table.add_row("yes" if finding.works else "no", finding.what, finding.detail)
    Console(width=None if Console().is_terminal else 160).print(table)


def _python() -> Finding:
    return Finding("python", sys.version_info >= (3, 11), f"{platform.python_version()} at {sys.executable}")


def _java() -> Finding:
    try:
        java = find_java()
    except JavaNotFound as error:
        return Finding("highwater check (Spark)", False, str(error))
    return Finding("highwater check (Spark)", True, f"Java {java.version} at {java.home}")


def _backends() -> list[Finding]:
    built = [
        Finding(f"--backend {name}", True, "faults: " + ", ".join(available_faults(backend.capabilities)))
        for name, backend in BACKENDS.items()
    ]
    return built + [Finding(f"--backend {name}", False, "not built yet in this version") for name in NOT_BUILT]
