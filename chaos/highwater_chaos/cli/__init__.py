"""``highwater``: the command line. One command a module; :func:`main` maps errors to exit statuses."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

import click
import typer

from highwater_chaos.cli import check, doctor, planned, replay, report, run, scenarios
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.experiment import ExperimentError

app = typer.Typer(
    name="highwater",
    help="Was anything that the log said was safe ever lost?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(run.run)
app.command()(check.check)
app.command()(replay.replay)
app.command()(report.report)
app.command()(scenarios.scenarios)
app.command()(doctor.doctor)
planned.register(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with the documented status."""
    sys.exit(execute(sys.argv[1:] if arguments is None else arguments))


def execute(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit status (see :class:`Exit`), whatever happens."""
    try:
        status = app(args=list(arguments), prog_name="highwater", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        print(f"highwater: {error.format_message()}", file=sys.stderr)
        if isinstance(error, click.UsageError) and error.ctx is not None:
            print(f"Try '{error.ctx.command_path} --help'.", file=sys.stderr)
        return Exit.USAGE
    except (ExperimentError, UsageError) as error:
        print(error, file=sys.stderr)
        return Exit.USAGE
    except (KeyboardInterrupt, click.Abort):
        print("highwater: interrupted; runs that had finished are kept, the one in progress is not", file=sys.stderr)
        return Exit.INCONCLUSIVE
    except Exception:
        traceback.print_exc()
        print("highwater: this is a fault of the harness, not of the system under test", file=sys.stderr)
        return Exit.HARNESS
    return int(status or 0)
