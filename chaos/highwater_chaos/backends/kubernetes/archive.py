"""A run directory kept in the cluster: a compressed archive in ConfigMaps, owned by the experiment.

No object store and no volume is asked for, so that it works wherever an experiment does, and every user who may read
ConfigMaps can fetch it. A run that would be too large is kept without its recordings: only with verdict, report, faults
and logs. It is then marked as a run whose recordings are missing.

What a judging Job adds is kept beside the recordings, which do not change once they are there.
"""

from __future__ import annotations

import base64
import hashlib
import io
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from highwater_chaos.kube.client import Kube
from highwater_chaos.kube.kinds import API_VERSION, CONFIG_MAP, EXPERIMENT_LABEL, Json

CHUNK: Final = 700 * 1024
"""Bytes in one ConfigMap: with base 64 still below the megabyte that one may have."""
LARGEST: Final = 16 * 1024 * 1024
_JUDGED: Final = ("verdict.json", "junit.xml", "report.html")
_ESSENTIAL: Final = (*_JUDGED, "run.json", "experiment.yaml", "faults.jsonl", "phases.jsonl", "logs")
_RUN: Final = "run"
_VERDICT: Final = "verdict"
_CHUNKS: Final = "highwater.dev/chunks"
_SHA256: Final = "highwater.dev/sha256"
_DIRECTORY: Final = "highwater.dev/directory"
_OF: Final = "highwater.dev/of"
"""Of a verdict: the digest of the recordings that it is about."""


class ArchiveError(Exception):
    """There is no archive, or a part of it is missing or wrong."""


def store(api: Kube, owner: Json, directory: Path) -> str:
    """Keep the run directory for the experiment ``owner`` (a manifest). Returns in words where: ``status.run``."""
    data, note = pack(directory), ""
    if len(data) > LARGEST:
        note = f"; without recordings, which are {len(data) >> 20} MiB and more than is kept in a cluster"
        data = pack(directory, only=_ESSENTIAL)
    return _put(api, owner, _RUN, data, {_DIRECTORY: directory.name}) + note


def store_recordings(api: Kube, owner: Json, directory: Path) -> str | None:
    """Keep a run directory that is not judged yet; None where that is more than is kept in a cluster."""
    data = pack(directory)
    return None if len(data) > LARGEST else _put(api, owner, _RUN, data, {_DIRECTORY: directory.name})


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
    return f"{_words(owner, _RUN, int(annotations[_CHUNKS]))}, verdict and report: {where}"


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
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=6) as archive:
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory)
            if only is None or name.parts[0] in only:
                archive.write(path, name)
    return buffer.getvalue()


def fetch(api: Kube, namespace: str, name: str, parent: Path) -> Path:
    """Bring an experiment's run directory to this machine, below ``parent``; returns it.

    Raises:
        ArchiveError: there is none, or it is not whole.
        OSError: it cannot be written.
    """
    found = _get(api, namespace, name, _RUN)
    if found is None:
        raise ArchiveError(
            f"no run of {namespace}/{name} is kept: expected ConfigMap {_name(name, _RUN, 0)}; found none"
        )
    data, annotations = found
    target = _free(parent / Path(annotations[_DIRECTORY]).name)
    _unpack(data, target)
    if not (target / "verdict.json").exists():
        _add_verdict(api, namespace, name, annotations[_SHA256], target)
    return target


def _add_verdict(api: Kube, namespace: str, name: str, of: str, target: Path) -> None:
    """What was judged elsewhere, where that is whole and about these recordings."""
    try:
        judged = _get(api, namespace, name, _VERDICT)
    except ArchiveError:  # the judging Job was ended in the middle; the run can be judged again
        return
    if judged is not None and judged[1].get(_OF) == of:
        _unpack(judged[0], target)


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


def _unpack(data: bytes, target: Path) -> None:
    # A name that leads out of the directory is led back in by the library, on every release of Python 3.11.
    with ZipFile(io.BytesIO(data)) as archive:
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
            "labels": {"app.kubernetes.io/part-of": "highwater", EXPERIMENT_LABEL: metadata["name"][:63]},
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
