"""The directory of a campaign: what is known of it at any moment, and its results when it ends.

=================== ===============================================================================================
campaign.json       what was asked for; ``--resume`` goes on only with the same
journal.jsonl       one outcome a line, as they come; a line that was torn when the driver was killed is left out
results.parquet     one row a seed, by experiment, variant and seed: the same campaign gives the same bytes
times.parquet       what each of them cost
campaign.html       the page
runs/               run directories of seeds that failed
shrunk/             small experiments made of them
=================== ===============================================================================================
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BufferedRandom
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from highwater_chaos.base.distribution import installed_version
from highwater_chaos.base.user_error import UserError
from highwater_chaos.campaign.seed import Outcome
from highwater_chaos.run.run_id import new_run_id
from highwater_pipeline.arrow import without_pandas  # noqa: F401 - before the first array

PLAN: Final = "campaign.json"
JOURNAL: Final = "journal.jsonl"
RESULTS: Final = "results.parquet"
TIMES: Final = "times.parquet"
PAGE: Final = "campaign.html"
OWN_FILES: Final = (PLAN, JOURNAL, RESULTS, TIMES, PAGE)

_KEY: Final = [("experiment", pa.string()), ("mutant", pa.string()), ("seed", pa.int64())]
_FIELDS: Final = {"mutant": "variant", "mutant_reached": "reached", "mutant_changed": "changed"}
"""Columns that are named after the only variants that there are, those of the laboratory: readers know them so."""
RESULTS_SCHEMA: Final = pa.schema(
    [
        *_KEY,
        ("verdict", pa.string()),  # pass, fail, inconclusive; error: the seed has none
        ("anomalies", pa.list_(pa.string())),
        ("reasons", pa.list_(pa.string())),  # why it is inconclusive, or what was raised
        ("transitions", pa.list_(pa.string())),
        ("faults", pa.int32()),
        ("acknowledged", pa.int64()),
        ("lost", pa.int64()),  # of those that were acknowledged; null: not known
        ("run_seconds", pa.float64()),  # simulated
        ("trace_digest", pa.string()),
        ("mutant_reached", pa.bool_()),  # false: the variant could make no difference to this seed
        ("mutant_changed", pa.bool_()),  # false: it made none
    ]
)
TIMES_SCHEMA: Final = pa.schema(
    [*_KEY, ("cpu_seconds", pa.float64()), ("wall_seconds", pa.float64()), ("attempts", pa.int32())]
)


class BadCampaignError(UserError):
    """The directory cannot be used; the message says why and what to do."""


class CampaignDirectory:
    """A campaign's directory, open for outcomes. A context manager."""

    def __init__(self, path: Path, journal: BufferedRandom, known: Sequence[Outcome], run_id: str) -> None:
        self.path = path
        self.run_id = run_id
        """The campaign's key."""
        self._journal = journal
        self.known = known
        """Outcomes of an earlier part of the same campaign."""
        self.on_line: Callable[[bytes], None] = lambda _line: None
        """Called with each line of the journal once it is written."""
        self._encode = msgspec.json.Encoder().encode

    @classmethod
    def open(cls, path: Path, asked: Mapping[str, Any], *, resume: bool) -> Self:
        """Begin a campaign in an empty or new directory, or with ``resume`` go on with the one that is there.

        Raises:
            BadCampaignError: it is of something else, of another version, not a campaign's, or cannot be written to; or
                another campaign is at work there.
        """
        plan = path / PLAN
        wanted = {"version": installed_version(), **asked, "runId": new_run_id()}
        if not resume:
            with _writing(path, "choose another place (--out)"):
                if path.exists() and (not path.is_dir() or any(path.iterdir())):
                    raise BadCampaignError(
                        f"--out {path}: expected a new or empty directory; choose another, or add --resume"
                    )
                path.mkdir(parents=True, exist_ok=True)
                plan.write_bytes(msgspec.json.format(msgspec.json.encode(wanted), indent=2) + b"\n")
                return cls(path, _open_journal(path), [], wanted["runId"])
        try:
            found = msgspec.json.decode(plan.read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError) as error:
            raise BadCampaignError(f"--resume: {plan}: expected the plan of a campaign; found: {error}") from error
        wanted = msgspec.json.decode(msgspec.json.encode(wanted))
        names = (wanted.keys() | found.keys()) - {"seeds", "runId"}  # more seeds, or fewer, are the same campaign
        if differing := sorted(name for name in names if wanted.get(name) != found.get(name)):
            raise BadCampaignError(
                f"--resume: {path} is a campaign with other {', '.join(differing)}; give the same arguments (seeds may"
                " differ), or another --out"
            )
        with _writing(path, "see to it, or choose another --out"):
            journal = _open_journal(path)
            return cls(path, journal, _known(journal), found.get("runId", ""))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):  # what could not be written is said already
            self._journal.close()

    def add(self, outcome: Outcome) -> None:
        """Make sure that this outcome is known from now on, whatever becomes of the driver.

        Raises:
            BadCampaignError: the disk is full or has failed.
        """
        line = self._encode(outcome) + b"\n"
        with self.writing():
            self._journal.write(line)
            self._journal.flush()
        self.on_line(line)

    def finish(self, outcomes: Iterable[Outcome]) -> None:
        """Write the tables. Raises as :meth:`add`."""
        ordered = sorted(outcomes, key=lambda one: one.key)
        for name, schema in ((RESULTS, RESULTS_SCHEMA), (TIMES, TIMES_SCHEMA)):
            rows = [{name: getattr(one, _FIELDS.get(name, name)) for name in schema.names} for one in ordered]
            table = pa.Table.from_pylist(rows, schema=schema)
            unfinished = self.path / f".{name}"
            with self.writing():
                pq.write_table(table, unfinished, compression="zstd")
                os.replace(unfinished, self.path / name)  # noqa: PTH105 - atomic, as its name says

    def writing(self) -> AbstractContextManager[None]:
        """Say what to do if this directory cannot be written to."""
        return _writing(self.path, "what was known until then is kept: add --resume --out")


@contextmanager
def _writing(path: Path, advice: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadCampaignError(f"{path}: cannot be written: {error.strerror or error}; {advice}") from error


def _open_journal(path: Path) -> BufferedRandom:
    """The journal, for this process alone: the lock goes with it, however it ends, and no child has it."""
    journal = (path / JOURNAL).open("a+b")
    try:
        fcntl.lockf(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BadCampaignError(
                f"--out {path}: another campaign is at work there; wait for it, or end it"
            ) from error
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):  # a file system may have no locks
            raise
    return journal


def _known(journal: BufferedRandom) -> list[Outcome]:
    """The outcomes in a journal; a torn last line is cut off, for further ones follow it."""
    journal.seek(0)
    content = journal.read()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        journal.truncate(len(whole))
    decode = msgspec.json.Decoder(Outcome).decode
    try:
        return [decode(line) for line in whole.splitlines()]
    except msgspec.DecodeError as error:
        raise BadCampaignError(f"--resume: {journal.name}: expected outcomes, one a line; found: {error}") from error
