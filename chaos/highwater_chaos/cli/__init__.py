"""``highwater``: the command line. One command a module; :func:`main` maps errors to exit statuses.

A process pays for what it does: only the module of the command that was asked for is imported, for help on all of them
none.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer

from highwater_chaos.cli.exits import Exit
from highwater_chaos.cli.heard_output import HeardOutput
from highwater_chaos.cli.interrupts import Interrupts
from highwater_chaos.cli.planned import add_planned_commands
from highwater_chaos.user_error import UserError

_ARGUMENT_ERROR: Any = typer.BadParameter.__base__
"""Every error about arguments; typer brings its own copy of click and exports only this subclass of it."""

_TYPER_INTERRUPTED: Final = 130
"""What typer makes of Ctrl-C, as a result; no command of ours has this status."""


class Command(NamedTuple):
    """A command: the function of this name in the module of this name, and the beginning of its help."""

    name: str
    summary: str


COMMANDS: Final = (
    Command("run", "Run experiments and judge them. Exits 0 if every run came out as its file expects."),
    Command(
        "check", "Judge a run directory again, or the history of any run, on Spark. Exits by the verdict: 0, 1 or 2."
    ),
    Command(
        "replay", "Run the experiment of a run directory again, with its seed and switches, and compare what happened."
    ),
    Command("report", "Draw report.html of a run directory again, and print its path."),
    Command("scenarios", "List the experiments that ship, with what each shows and what is expected of it."),
    Command(
        "doctor",
        "Show what this machine can do: Python, Java for Spark, each ability (tried), and each fault on each backend.",
    ),
    Command("heal", "Undo what runs left on this machine: faults, processes, mounts, namespaces."),
)
CLUSTER: Final = Command(
    "cluster", "A local cluster for any Kafka client: plain processes on 127.0.0.1, no root needed."
)


def _app(wanted: str) -> typer.Typer:
    """The command line, of which only the command ``wanted`` can be run."""
    app = typer.Typer(
        name="highwater",
        help="Was anything that the log said was safe ever lost?",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name, summary in COMMANDS:
        if name == wanted:
            app.command(name)(getattr(import_module(f"{__name__}.{name}"), name))
        else:
            app.command(name, help=summary)(_not_wanted)
    if wanted == CLUSTER.name:
        app.add_typer(import_module(f"{__name__}.cluster").cluster_app, name=CLUSTER.name)
    else:
        app.command(CLUSTER.name, help=CLUSTER.summary)(_not_wanted)
    add_planned_commands(app)
    return app


def _not_wanted() -> None:
    raise AssertionError("a command that was not asked for")


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
    wanted = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        status = _app(wanted)(args=list(arguments), prog_name="highwater", standalone_mode=False)
    except typer.Exit as stop:
        return stop.exit_code
    except _ARGUMENT_ERROR as error:
        print(_complaint(arguments, error.format_message()), file=sys.stderr)
        return Exit.USAGE
    except UserError as error:
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
