"""``highwater validate``: whether experiment files are right, without running them."""

from __future__ import annotations

from typing import Annotated

import typer

from highwater_chaos.backends import make_backend
from highwater_chaos.cli.choices import BackendHere
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.shipped import Experiments, files_of
from highwater_chaos.experiment import ExperimentError, load_experiment
from highwater_chaos.schedule.capability import missing_capabilities


def validate(
    experiments: Experiments,
    backend: Annotated[
        BackendHere | None,
        typer.Option(show_default=False, help="Also say whether each can run there, on this machine."),
    ] = None,
) -> int:
    """Check experiment files without running them. Exits 254 if one of them is wrong, and says where and why."""
    errors: list[str] = []
    for file in files_of(experiments):
        try:
            experiment = load_experiment(file, references=True)
        except ExperimentError as error:
            errors.append(str(error))
            continue
        problems = (
            [] if backend is None else missing_capabilities(experiment, make_backend(backend, commands_in=file.parent))
        )
        if problems:
            errors += [f"{file}: {problem}" for problem in problems]
        else:
            print(f"{file}: valid")
    if errors:
        raise UsageError("\n".join(errors))
    return Exit.OK
