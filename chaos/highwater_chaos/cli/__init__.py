"""``highwater``: the command line. One command a module; :func:`main` maps errors to exit statuses.

A process imports what it needs: the module of the command that was asked for, and for help on all of them none.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, Final

import typer

from highwater_chaos.base.distribution import installed_version, missing_extra
from highwater_chaos.base.user_error import UserError
from highwater_chaos.cli.command import Command
from highwater_chaos.cli.exits import Exit
from highwater_chaos.cli.interrupts import EndedEarlyError, Interrupts, raised_as_interruption, was_interrupted
from highwater_chaos.cli.machine_refuses import refusal_of_machine
from highwater_chaos.cli.pipe_safe_output import PipeSafeOutput

_ARGUMENT_ERROR: Any = typer.BadParameter.__base__
"""Every error about arguments; typer brings its own copy of click and exports only this subclass of it."""

_STDERR: Final = 2
"""The last descriptor of the standard streams."""

_TYPER_INTERRUPTED: Final = 130
"""What typer makes of Ctrl-C, as a result; no command of ours has this status."""

_COMPLETION: Final = "_HIGHWATER_COMPLETE"
"""Set in the environment by a shell that asks for completion, which may be that of any command."""

_EXPECTED: Final = (
    (r"Input should be a valid integer.*", "expected a whole number"),
    (r"Input should be a valid number.*", "expected a number"),
    (r"Input should be greater than or equal to (\S+)", r"expected at least \1"),
    (r"Input should be less than or equal to (\S+)", r"expected at most \1"),
    (r"Value error, ", ""),
)
"""Messages of typer's validation, and what the user reads in their place."""

_OPTION: Final = re.compile(r"Invalid value for '(--[a-z-]+)'")

COMMANDS: Final = {
    "run": "Run experiments and judge them.",
    "campaign": "Run many seeds of experiments, and count.",
    "init": "Write a first experiment, with comments.",
    "validate": "Check experiment files without running them.",
    "schema": "Print the JSON Schema of an experiment file (draft 2020-12).",
    "check": "Judge recorded runs again.",
    "store": "Split recorded runs by partition, for Spark.",
    "export": "Write a recorded run with JSON Lines in place of Parquet.",
    "replay": "Run a recorded experiment again and compare.",
    "shrink": "Find a small experiment that fails as a recorded run did.",
    "runs": "List the judged runs below a directory, the latest first.",
    "report": "Draw the report of a recorded run.",
    "compare": "Show two recorded runs side by side.",
    "truncations": "Show what truncations did to the replicas of recorded runs.",
    "scenarios": "List the shipped experiments.",
    "doctor": "Show which faults this machine can inject.",
    "heal": "Undo what runs left behind.",
}
"""How the help of each command begins. The command is the function of that name in the module of that name."""

GROUPS: Final = {
    "cluster": "Run a cluster for any Kafka client. The nodes are plain processes on 127.0.0.1; no root is needed.",
}
"""The help of each group of commands, ``<name>_app`` in the module of that name."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"highwater {installed_version()}")
        raise typer.Exit


CommandLine = Callable[[str | None], typer.Typer]
"""Makes a command line of which one command can be run, or all (None), as :func:`command_line` does."""


def command_line(wanted: str | None = None) -> typer.Typer:
    """The command line. ``wanted``: the only command that can be run, and is imported; None: all."""
    app = typer.Typer(name="highwater", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(_highwater)
    for name, summary in COMMANDS.items():
        if wanted in (None, name):
            app.command(name, cls=Command)(getattr(import_module(f"{__name__}.{name}"), name))
        else:
            app.command(name, help=summary)(_not_wanted)
    for name, summary in GROUPS.items():
        if wanted in (None, name):
            app.add_typer(getattr(import_module(f"{__name__}.{name}"), f"{name}_app"), name=name)
        else:
            app.command(name, help=summary)(_not_wanted)
    return app


def _highwater(
    show_version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Test replicated logs in the style of Apache Kafka: did the log lose a record that it had acknowledged?"""


def _not_wanted() -> None:
    raise AssertionError("a command that was not asked for")


def main(arguments: Sequence[str] | None = None, made: CommandLine = command_line) -> None:
    """Run a command line and leave with the documented status; SIGTERM cleans up as Ctrl-C does."""
    _open_what_was_closed()
    Interrupts().listen()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name of a file or a process may be no text; as on stderr
    sys.stdout = PipeSafeOutput(sys.stdout, matters=True)
    sys.stderr = PipeSafeOutput(sys.stderr, matters=False)
    status = execute(sys.argv[1:] if arguments is None else arguments, made)
    try:
        sys.stdout.flush()
    except UserError as error:
        print(error, file=sys.stderr)
        status = Exit.USAGE
    gc.freeze()  # or Python looks through all that was imported for garbage, which is a tenth of a command's time
    sys.exit(status)


def _open_what_was_closed() -> None:
    """Or the first file to be opened would get the number of a standard stream, and what other programs print there."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(opened, True)
    os.close(opened)


def execute(arguments: Sequence[str], made: CommandLine = command_line) -> int:
    """Run one command; returns its exit status (see :class:`Exit`), whatever happens.

    Args:
        made: another command line than that of ``highwater``.
    """
    asked_for = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        with raised_as_interruption():
            app = made(None if _COMPLETION in os.environ else asked_for)
            status = app(args=list(arguments), prog_name=app.info.name, standalone_mode=False)
    except typer.Exit as stop:
        return stop.exit_code
    except _ARGUMENT_ERROR as error:
        print(_complaint(arguments, error), file=sys.stderr)
        return Exit.USAGE
    except UserError as error:
        print(error, file=sys.stderr)
        return Exit.USAGE
    except EndedEarlyError:
        return _interrupted("the one in progress as far as it went")
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (needed := missing_extra(error)) is not None:
            print(needed, file=sys.stderr)
            return Exit.USAGE
        if (refusal := refusal_of_machine(error)) is not None:
            message, status = refusal
            print(f"highwater: {message}", file=sys.stderr)
            return status
        traceback.print_exc()
        print("highwater: this is a fault of the harness, not of the system under test", file=sys.stderr)
        return Exit.HARNESS
    ended_by_it = was_interrupted() and status == Exit.USAGE
    return _interrupted() if ended_by_it or status == _TYPER_INTERRUPTED else int(status or 0)


def _interrupted(in_progress: str = "the one in progress is not") -> Exit:
    print(f"highwater: interrupted; runs that had finished are kept, {in_progress}", file=sys.stderr)
    return Exit.INCONCLUSIVE


def _complaint(arguments: Sequence[str], error: Any) -> str:
    """Return the message for a wrong argument: expected, found, and which help page to read."""
    message: str = error.format_message().rstrip(".")
    if not arguments:  # the message is the help page itself
        return message
    for pattern, expected in _EXPECTED:
        message = re.sub(pattern, expected, message)
    if (named := _OPTION.search(message)) is not None and " expected " in message:
        message += _found(arguments, named[1])
    command = error.ctx.command_path if error.ctx is not None else "highwater"
    return f"highwater: {message}; see '{command} --help'"


def _found(arguments: Sequence[str], option: str) -> str:
    for index, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == option and (equals or index + 1 < len(arguments)):
            return f", found {value if equals else arguments[index + 1]!r}"
    return ""
