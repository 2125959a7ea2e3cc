"""Spark as commands start it: ``--master``, ``--conf``, and how far its tasks are, on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from highwater_chaos.cli.exits import UsageError
from highwater_pipeline.java import JavaNotFoundError

if TYPE_CHECKING:
    from pyspark import StatusTracker

Master = Annotated[
    str | None,
    typer.Option(metavar="URL", show_default=False, help="Use this Spark master, not this machine's cores."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", show_default=False, help="Set a property of Spark; it overrides spark-defaults.conf."
    ),
]
_LOOK_SECONDS: Final = 0.5


def spark_properties(given: Sequence[str] | None) -> dict[str, str]:
    """What ``--conf`` sets, by key. Raises :class:`UsageError` for what is no property of Spark."""
    pairs = [one.partition("=") for one in given or ()]
    for key, separator, value in pairs:
        if not separator or not key.startswith("spark.") or key.split() != [key]:
            raise UsageError(
                f"--conf {key}{separator}{value}: expected KEY=VALUE with a property of Spark, such as"
                " spark.executor.memory=4g"
            )
    return {key: value for key, _, value in pairs}


def start_spark(session: ExitStack, master: str | None, name: str, conf: Mapping[str, str]) -> None:
    """Start the session that ``session`` ends, unless one is active; its tasks are shown until then."""
    from highwater_pipeline import spark  # noqa: PLC0415 - PySpark takes a second to import

    try:
        started = session.enter_context(spark.open_session(master, name=name, conf=conf))
    except (JavaNotFoundError, spark.SparkFailedError) as error:
        raise UsageError(str(error)) from error
    console = Console(stderr=True)
    if sys.stderr.isatty() and not console.is_dumb_terminal:
        session.enter_context(_shown(started.sparkContext.statusTracker(), console))


@contextmanager
def _shown(tracker: StatusTracker, console: Console) -> Iterator[None]:
    """A spinner with the tasks of the stages at work."""
    over = threading.Event()
    with console.status(Text("Spark: waiting for a task")) as status:

        def look() -> None:
            while not over.wait(_LOOK_SECONDS):
                try:
                    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                except Exception:  # the JVM is gone, or going: whoever waits for it says so
                    return
                known = [stage for stage in stages if stage is not None]
                if known:
                    done, tasks = sum(one.numCompletedTasks for one in known), sum(one.numTasks for one in known)
                    status.update(Text(f"Spark: {done} of {tasks} tasks done"))

        watching = threading.Thread(target=look, name="spark-tasks", daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()
