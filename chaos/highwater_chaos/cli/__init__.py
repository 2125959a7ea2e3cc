"""``highwater``: the command line. One command a module; :func:`main` maps errors to exit statuses."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer

from highwater_chaos.cli.check import check
from highwater_chaos.cli.cluster import cluster_app
from highwater_chaos.cli.command import Command
from highwater_chaos.cli.doctor import doctor
from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.heal import heal
from highwater_chaos.cli.heard_output import HeardOutput
from highwater_chaos.cli.interrupts import Interrupts
from highwater_chaos.cli.replay import replay
from highwater_chaos.cli.report import report
from highwater_chaos.cli.run import run
from highwater_chaos.cli.scenarios import scenarios
from highwater_chaos.cli.validate import validate
from highwater_chaos.experiment import ExperimentError

_ARGUMENT_ERROR: Any = typer.BadParameter.__base__
"""Every error about arguments; typer brings its own copy of click and exports only this subclass of it."""

_TYPER_INTERRUPTED: Final = 130
"""What typer makes of Ctrl-C, as a result; no command of ours has this status."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"highwater {version('highwater')}")
        raise typer.Exit


app = typer.Typer(
    name="highwater",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def highwater(
    show_version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Answer one question about a replicated log: was anything that the log said was safe ever lost?"""


app.command(cls=Command)(run)
app.command(cls=Command)(validate)
app.command(cls=Command)(check)
app.command(cls=Command)(replay)
app.command(cls=Command)(report)
app.command(cls=Command)(scenarios)
app.command(cls=Command)(doctor)
app.command(cls=Command)(heal)
app.add_typer(cluster_app, name="cluster")


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
