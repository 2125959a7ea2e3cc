"""A run directory kept in the cluster: a compressed archive in ConfigMaps, owned by the experiment.

No object store and no volume is asked for, so that it works wherever an experiment does, and every user who may read
ConfigMaps can fetch it. Of a run that would be too large only verdict, report, faults and logs are kept so; with its
recordings it is kept in a claim (:mod:`~highwater_chaos.backends.kubernetes.claim`) if one is given. If none is, it is
marked as a run whose recordings are missing.

What a judging Job adds is kept beside the recordings, which do not change once they are there.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZipFile

from highwater_chaos.backends.kubernetes.claim import Claim
from highwater_chaos.kube.client import Kube
from highwater_chaos.kube.kinds import API_VERSION, CONFIG_MAP, EXPERIMENT_LABEL, Json, label_value

CHUNK: Final = 700 * 1024
"""Bytes in one ConfigMap: with base 64 still below the megabyte that one may have."""
LARGEST: Final = 16 * 1024 * 1024
_JUDGED: Final = ("manifest.json", "verdict.json", "junit.xml", "report.html")
_ESSENTIAL: Final = (*_JUDGED, "run.json", "experiment.yaml", "faults.jsonl", "phases.jsonl", "logs")
_RUN: Final = "run"
_VERDICT: Final = "verdict"
_CHUNKS: Final = "highwater.dev/chunks"
_SHA256: Final = "highwater.dev/sha256"
_DIRECTORY: Final = "highwater.dev/directory"
_FILE: Final = "highwater.dev/recordings-file"
"""Of a run whose recordings are in a claim: their file there, its digest, and in words where that is."""
_FILE_SHA256: Final = "highwater.dev/recordings-sha256"
_FILE_WHERE: Final = "highwater.dev/recordings-in"
_OF: Final = "highwater.dev/of"
"""Of a verdict: the digest of the recordings that it is about."""


class ArchiveError(Exception):
    """There is no archive, or a part of it is missing or wrong."""


def store(api: Kube, owner: Json, directory: Path, claim: Claim | None = None) -> str:
    """Keep the run directory for the experiment ``owner`` (a manifest). Returns in words where: ``status.run``."""
    with _packed(directory) as packed:
        size = _size(packed)
        if size <= LARGEST:
            return _put(api, owner, _RUN, packed.read(), {_DIRECTORY: directory.name})
        note = f"; without recordings, which are {size >> 20} MiB and more than is kept in a cluster"
        if claim is not None:
            try:
                return _put_beside(api, owner, directory, packed, claim)
            except OSError as error:
                note += f", and not kept either in {claim.where}: {error}"
    return _put(api, owner, _RUN, pack(directory, only=_ESSENTIAL), {_DIRECTORY: directory.name}) + note


def store_recordings(api: Kube, owner: Json, directory: Path, claim: Claim | None = None) -> str | None:
    """Keep a run directory that is not judged yet; None where its recordings cannot be kept."""
    with _packed(directory) as packed:
        if _size(packed) <= LARGEST:
            return _put(api, owner, _RUN, packed.read(), {_DIRECTORY: directory.name})
        try:
            return None if claim is None else _put_beside(api, owner, directory, packed, claim)
        except OSError:  # the runner judges, and says so where it stores the verdict
            return None


def _put_beside(api: Kube, owner: Json, directory: Path, packed: io.BufferedRandom, claim: Claim) -> str:
    """All of it to the claim, and what is essential where everybody finds it. Raises ``OSError``."""
    file, size = f"{directory.name}.zip", _size(packed)
    digest = hashlib.file_digest(packed, "sha256").hexdigest()
    packed.seek(0)
    claim.put(file, packed)
    where = f"{claim.where}, file {file}"
    notes = {_DIRECTORY: directory.name, _FILE: file, _FILE_SHA256: digest, _FILE_WHERE: where}
    kept = _put(api, owner, _RUN, pack(directory, only=_ESSENTIAL), notes)
    return f"{kept}; recordings ({size >> 20} MiB): {where}"


def store_verdict(api: Kube, owner: Json, directory: Path) -> str:
    """Keep what judging added to the run directory that :func:`fetch` brought. The recordings are not touched, whatever
    becomes of the judging Job; a verdict that is not whole is none. Returns in words where the run directory is."""
    first = api.get(CONFIG_MAP, owner["metadata"]["namespace"], _name(owner["metadata"]["name"], _RUN, 0))
    if first is None:
        raise ArchiveError(f"the run of {owner['metadata']['name']} is not kept any more")
    annotations = first["metadata"]["annotations"]
    data = pack(directory, only=_JUDGED)
    if len(data) > LARGEST:  # the report can be drawn again
        data = pack(directory, only=_JUDGED[:-1])
    where = _put(api, owner, _VERDICT, data, {_OF: annotations[_SHA256]})
    beside = f", recordings: {annotations[_FILE_WHERE]}" if _FILE in annotations else ""
    return f"{_words(owner, _RUN, int(annotations[_CHUNKS]))}, verdict and report: {where}{beside}"


def _put(api: Kube, owner: Json, what: str, data: bytes, notes: dict[str, str]) -> str:
    chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    notes = {**notes, _CHUNKS: str(len(chunks)), _SHA256: hashlib.sha256(data).hexdigest()}
    # The first one last: it says how many there are.
    for number in reversed(range(len(chunks))):
        api.apply(_chunk(owner, _name(owner["metadata"]["name"], what, number), chunks[number], notes))
    return _words(owner, what, len(chunks))


def _words(owner: Json, what: str, count: int) -> str:
    return f"configmaps {_name(owner['metadata']['name'], what, 0)} to {count - 1}"


def pack(directory: Path, only: tuple[str, ...] | None = None) -> bytes:
    """The directory's content (``only`` what is below these names) as a zip file."""
    with _packed(directory, only) as packed:
        return packed.read()


@contextmanager
def _packed(directory: Path, only: tuple[str, ...] | None = None) -> Iterator[io.BufferedRandom]:
    """The same on disk, and not in memory: recordings may be larger than that."""
    with TemporaryFile(dir=directory.parent) as file:
        with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=6) as archive:
            for path in sorted(directory.rglob("*")):
                name = path.relative_to(directory)
                if only is None or name.parts[0] in only:
                    archive.write(path, name)
        file.seek(0)
        yield file


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def fetch(api: Kube, namespace: str, name: str, parent: Path, claim: Claim | None = None) -> Path:
    """Bring an experiment's run directory to this machine, below ``parent``; returns it.

    Recordings that are in a claim are there only if ``claim`` is given: it can be read in pods that mount it.

    Raises:
        ArchiveError: there is none, or it is not whole; or it is not judged, and its recordings are in a claim.
        OSError: it cannot be written.
    """
    found = _get(api, namespace, name, _RUN)
    if found is None:
        raise ArchiveError(
            f"no run of {namespace}/{name} is kept: expected ConfigMap {_name(name, _RUN, 0)}; found none"
        )
    data, annotations = found
    target = _free(parent / Path(annotations[_DIRECTORY]).name)
    if _FILE in annotations and claim is not None:
        _unpack_from(claim, annotations, target)
    else:
        _unpack(io.BytesIO(data), target)
    if not (target / "verdict.json").exists():
        _add_verdict(api, namespace, name, annotations[_SHA256], target)
    if _FILE in annotations and claim is None and not (target / "verdict.json").exists():
        shutil.rmtree(target)
        raise ArchiveError(
            f"the run of {namespace}/{name} is not judged, and its recordings are in {annotations[_FILE_WHERE]}:"
            " fetch and unpack that file, then highwater check on the directory"
        )
    return target


def _unpack_from(claim: Claim, annotations: dict[str, str], target: Path) -> None:
    where = annotations[_FILE_WHERE]
    try:
        with claim.open(annotations[_FILE]) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != annotations[_FILE_SHA256]:
                raise ArchiveError(f"{where}: the recordings are not what was stored")
            file.seek(0)
            _unpack(file, target)
    except OSError as error:
        raise ArchiveError(f"{where}: {error}") from error


def _add_verdict(api: Kube, namespace: str, name: str, of: str, target: Path) -> None:
    """What was judged elsewhere, where that is whole and about these recordings."""
    try:
        judged = _get(api, namespace, name, _VERDICT)
    except ArchiveError:  # the judging Job was ended in the middle; the run can be judged again
        return
    if judged is not None and judged[1].get(_OF) == of:
        _unpack(io.BytesIO(judged[0]), target)


def _get(api: Kube, namespace: str, name: str, what: str) -> tuple[bytes, dict[str, str]] | None:
    """The archive and the annotations that go with it; None where there is none."""
    first = api.get(CONFIG_MAP, namespace, _name(name, what, 0))
    if first is None:
        return None
    annotations: dict[str, str] = first["metadata"].get("annotations") or {}
    data = base64.b64decode(first["binaryData"]["part"])
    for number in range(1, int(annotations[_CHUNKS])):
        part = api.get(CONFIG_MAP, namespace, _name(name, what, number))
        if part is None:
            raise ArchiveError(
                f"the run of {namespace}/{name} is not whole: ConfigMap {_name(name, what, number)} is missing"
            )
        data += base64.b64decode(part["binaryData"]["part"])
    if hashlib.sha256(data).hexdigest() != annotations[_SHA256]:
        raise ArchiveError(f"the run of {namespace}/{name} is not what was stored: its parts are of several runs")
    return data, annotations


def _unpack(file: BinaryIO, target: Path) -> None:
    # A name that leads out of the directory is led back in by the library, on every release of Python 3.11.
    with ZipFile(file) as archive:
        archive.extractall(target)


def _free(wanted: Path) -> Path:
    number, candidate = 1, wanted
    while candidate.exists():
        number += 1
        candidate = wanted.with_name(f"{wanted.name}-{number}")
    return candidate


def _name(experiment: str, what: str, number: int) -> str:
    return f"{experiment}-{what}-{number}"


def _chunk(owner: Json, name: str, data: bytes, notes: dict[str, str]) -> Json:
    metadata = owner["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {"app.kubernetes.io/part-of": "highwater", EXPERIMENT_LABEL: label_value(metadata["name"])},
            "annotations": notes,
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": "ChaosExperiment",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                }
            ],
        },
        "binaryData": {"part": base64.b64encode(data).decode()},
    }
