"""``highwater``: the command line. One command a module; :func:`main` maps errors to exit statuses."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Any, Final

import typer

from highwater_chaos.cli.check import check
from highwater_chaos.cli.cluster import cluster_app
from highwater_chaos.cli.doctor import doctor
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.heal import heal
from highwater_chaos.cli.heard_output import HeardOutput
from highwater_chaos.cli.interrupts import Interrupts
from highwater_chaos.cli.planned import add_planned_commands
from highwater_chaos.cli.replay import replay
from highwater_chaos.cli.report import report
from highwater_chaos.cli.run import run
from highwater_chaos.cli.scenarios import scenarios
from highwater_chaos.experiment import ExperimentError

_ARGUMENT_ERROR: Any = typer.BadParameter.__base__
"""Every error about arguments; typer brings its own copy of click and exports only this subclass of it."""

_TYPER_INTERRUPTED: Final = 130
"""What typer makes of Ctrl-C, as a result; no command of ours has this status."""

app = typer.Typer(
    name="highwater",
    help="Was anything that the log said was safe ever lost?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(run)
app.command()(check)
app.command()(replay)
app.command()(report)
app.command()(scenarios)
app.command()(doctor)
app.command()(heal)
app.add_typer(cluster_app, name="cluster")
add_planned_commands(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with the documented status; SIGTERM cleans up as Ctrl-C does."""
    interrupts = Interrupts()
    interrupts.listen()
    sys.stdout = HeardOutput(sys.stdout)
    status = execute(sys.argv[1:] if arguments is None else arguments, interrupts)
    sys.stdout.flush()
    sys.exit(status)


def execute(arguments: Sequence[str], interrupts: Interrupts | None = None) -> int:
    """Run one command; returns its exit status (see :class:`Exit`), whatever happens.

    Args:
        interrupts: tells whether the process was asked to stop; an exception after that is the interruption's.
    """
    try:
        status = app(args=list(arguments), prog_name="highwater", standalone_mode=False)
    except typer.Exit as stop:
        return stop.exit_code
    except _ARGUMENT_ERROR as error:
        print(_complaint(arguments, error.format_message()), file=sys.stderr)
        return Exit.USAGE
    except (ExperimentError, UsageError) as error:
        print(error, file=sys.stderr)
        return Exit.USAGE
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except Exception:
        if interrupts is not None and interrupts.received:
            return _interrupted()
        traceback.print_exc()
        print("highwater: this is a fault of the harness, not of the system under test", file=sys.stderr)
        return Exit.HARNESS
    return _interrupted() if status == _TYPER_INTERRUPTED else int(status or 0)


def _interrupted() -> Exit:
    print("highwater: interrupted; runs that had finished are kept, the one in progress is not", file=sys.stderr)
    return Exit.INCONCLUSIVE


def _complaint(arguments: Sequence[str], message: str) -> str:
    # Without arguments the message is the help page itself.
    return f"highwater: {message.rstrip('.')}; see 'highwater --help'" if arguments else message
