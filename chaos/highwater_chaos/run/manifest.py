"""``manifest.json``: a digest of every file that a run directory has, so that an edit of one of them is seen.

A verdict is read by people, by CI, and by commands that draw, compare and replay runs. Each reader checks the whole
manifest first. It is not signed: it finds accidents and careless edits, not somebody who makes it anew after an edit.

Who may write into a run directory makes the manifest anew, in one step (:func:`update_manifest`), for the files that it
wrote: the run itself, whoever judges it, and ``report`` for its page. A file that no reader reads (``shrunk.yaml``, the
user's notes) is not in it. A page may be missing, since it can be drawn again.

Recordings of earlier versions have none. They can be read, and every reader says that they are unverified.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import msgspec

MANIFEST_FILE: Final = "manifest.json"
UNVERIFIED: Final = (
    f"unverified: it has no {MANIFEST_FILE}, since an earlier version recorded it; it is not known whether a file"
    " was changed"
)
"""What every reader says of such a run directory."""
_RUN_FILE: Final = "run.json"
_PAGE: Final = "report.html"
_READ: Final = frozenset(
    {"config", "dumps", "events", "experiment", "faults", "history", "junit", "logs", "metrics", "phases", "report"}
    | {"run", "units", "verdict"}
)
"""What readers read, by the first part of a path without its suffix: no further file may be there."""


class BadSummaryError(ValueError):
    """A run directory is not what the run wrote, or of another version; the message says which file and how."""


class _Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``files``: SHA-256 of every file, by its path in the run directory."""

    version: int = 1
    files: dict[str, str]


class _Declares(msgspec.Struct):
    manifest: bool = False


def has_manifest(directory: Path) -> bool:
    """Whether a run directory can be verified."""
    return (directory / MANIFEST_FILE).is_file()


def make_manifest(directory: Path, known: Mapping[str, str] | None = None) -> None:
    """Write the manifest of all files that are there. ``known``: digests of some of them."""
    known = known or {}
    names = (path.relative_to(directory) for path in sorted(directory.rglob("*")) if path.is_file())
    read = [name.as_posix() for name in names if _is_read(name)]
    _write(directory, {name: known.get(name) or digest_of(directory / name) for name in read})


def update_manifest(directory: Path, names: Collection[str]) -> None:
    """Make the manifest anew after some files were written; a run directory without one stays without.

    Raises:
        BadSummaryError: it cannot be read.
    """
    if has_manifest(directory):
        written = {name: digest_of(directory / name) for name in names if (directory / name).is_file()}
        _write(directory, {**_read(directory), **written})


def verify(
    directory: Path, *, written_anew: Collection[str] = (), may_lack_recordings: bool = False
) -> Mapping[str, str] | None:
    """Check that all files are those of the manifest, and no further one that is read; returns their digests, None if
    there is no manifest.

    ``written_anew``: files that the caller is about to write. ``may_lack_recordings``: files may be missing, of a run
    that was too large to be kept as a whole.

    Raises:
        BadSummaryError: a file is missing, another one, or one too many; or the manifest itself is missing or torn.
    """
    if not has_manifest(directory):
        if _declared(directory):
            raise BadSummaryError(
                f"{directory / MANIFEST_FILE}: expected the digests of the run's files, as {_RUN_FILE} says; found none"
            )
        return None
    files = _read(directory)
    for name, digest in files.items():
        path = directory / name
        if name in written_anew or (name == _PAGE and not path.exists()):
            continue
        if not path.is_file():
            if may_lack_recordings:
                continue
            raise BadSummaryError(f"{path}: expected the file that {MANIFEST_FILE} lists; found none")
        if digest_of(path) != digest:
            raise BadSummaryError(
                f"{path}: expected what the run wrote (SHA-256 {digest[:12]}… in {MANIFEST_FILE}); found other content."
                " Nothing is read from a run directory that was changed: restore the file, or judge a copy of its"
                " recordings: highwater check DIRECTORY/history/operations.jsonl"
            )
    expected = {*files, *written_anew}
    for path in sorted(directory.rglob("*")):
        found = path.relative_to(directory)
        if found.as_posix() not in expected and _is_read(found) and path.is_file():
            raise BadSummaryError(
                f"{path}: expected the files that {MANIFEST_FILE} lists, no more; found this one. Move it out of the"
                " run directory"
            )
    return files


def digest_of(path: Path) -> str:
    """SHA-256 of a file, read in parts. Raises ``OSError``."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_read(name: Path) -> bool:
    return name.parts[0].partition(".")[0] in _READ


def _declared(directory: Path) -> bool:
    try:
        return msgspec.json.decode((directory / _RUN_FILE).read_bytes(), type=_Declares).manifest
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False  # whoever reads the file says what is wrong with it


def _read(directory: Path) -> dict[str, str]:
    path = directory / MANIFEST_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Manifest).files
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSummaryError(f"{path}: cannot be read: {error}") from error


def _write(directory: Path, files: Mapping[str, str]) -> None:
    data = msgspec.json.format(msgspec.json.encode(_Manifest(files=dict(sorted(files.items())))), indent=2)
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".manifest-", delete=False) as file:
        made = Path(file.name)
        try:
            file.write(data + b"\n")
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)
            made.replace(directory / MANIFEST_FILE)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
