"""``highwater store``: split recorded runs by partition, so that each Spark task reads no more than its own."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.histories import at_hand, ensure_takes_store, histories_of
from highwater_chaos.cli.recorded import ensure_unchanged
from highwater_chaos.run.directory import NO_ROOM, CannotWriteError
from highwater_chaos.run.manifest import BadSummaryError
from highwater_chaos.run.summary import is_run_directory
from highwater_chaos.verdict.stored import store_run
from highwater_pipeline.partitions.store import is_stored_run, write_units
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.remote import AnyPath, BadAddressError, located
from highwater_pipeline.tables.run_tables import open_run


def store(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Run directories, directories of them, operations files, or patterns."),
    ],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Write to this store, a directory or s3://…; it may hold other runs.")
    ],
) -> int:
    """Split recorded runs by partition, for Spark.

    Writes them into a store, which 'check' judges without reading a run as a whole.
    """
    try:
        place = located(out)
        ensure_takes_store(place)
    except (BadAddressError, OSError) as error:
        raise UsageError(str(error)) from error
    for history in dict.fromkeys(history for path in paths for history in histories_of(path)):
        if is_stored_run(history):
            raise UsageError(f"{history}: expected a run directory or an operations file, found a run of a store")
        try:
            if is_run_directory(history):
                with at_hand(history) as here:
                    ensure_unchanged(here)
                    written = store_run(here, place)
            else:
                written = _store_file(history, place)
        except (BadTableError, BadSummaryError, OSError) as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:  # Arrow's name none
                raise CannotWriteError(place, error) from error
            raise UsageError(str(error)) from error
        print(f"written: {written}", file=sys.stderr)
    return Exit.OK


def _store_file(file: AnyPath, store: AnyPath) -> AnyPath:
    try:
        return write_units(open_run(file), store)
    except FileExistsError as error:
        raise UsageError(f"{error}; or, if {file} is another run, rename it: a file's name is its key") from error
