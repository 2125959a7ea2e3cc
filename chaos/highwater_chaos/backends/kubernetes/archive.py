"""A run directory kept in the cluster: a compressed archive in ConfigMaps, owned by the experiment.

No object store and no volume is asked for, so that it works wherever an experiment does, and anybody who may read
ConfigMaps can fetch it. What would be too large for that is kept without its recordings: verdict, report, faults and
logs are; the recordings are then said to be missing.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any, Final

from highwater_chaos.backends.kubernetes.api import GROUP, VERSION, Api

Json = dict[str, Any]
CHUNK: Final = 700 * 1024
"""Bytes in one ConfigMap: with base 64 still below the megabyte that one may have."""
LARGEST: Final = 16 * 1024 * 1024
_ESSENTIAL: Final = ("verdict.json", "report.html", "junit.xml", "experiment.yaml", "faults.jsonl", "logs")


class ArchiveError(Exception):
    """There is no archive, or a part of it is missing or wrong."""


def store(api: Api, owner: Json, directory: Path) -> str:
    """Keep the run directory for the experiment ``owner`` (a manifest). Returns in words where: ``status.run``."""
    data, note = pack(directory), ""
    if len(data) > LARGEST:
        note = f"; without recordings, which are {len(data) >> 20} MiB and more than is kept in a cluster"
        data = pack(directory, only=_ESSENTIAL)
    chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    digest = hashlib.sha256(data).hexdigest()
    # The first one last: it says how many there are.
    for number in reversed(range(len(chunks))):
        api.put_config_map(_chunk(owner, number, chunks[number], len(chunks), digest, directory.name))
    return f"configmaps {owner['metadata']['name']}-run-0 to {len(chunks) - 1}{note}"


def pack(directory: Path, only: tuple[str, ...] | None = None) -> bytes:
    """The directory's content (``only`` these names) as ``tar.gz``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as archive:
        for path in sorted(directory.iterdir()):
            if only is None or path.name in only:
                archive.add(path, arcname=path.name)
    return buffer.getvalue()


def fetch(api: Api, namespace: str, name: str, parent: Path) -> Path:
    """Bring an experiment's run directory to this machine, below ``parent``; returns it.

    Raises:
        ArchiveError: there is none, or it is not whole.
        OSError: it cannot be written.
    """
    first = api.config_map(namespace, _name(name, 0))
    if first is None:
        raise ArchiveError(f"no run of {namespace}/{name} is kept: expected ConfigMap {_name(name, 0)}; found none")
    said = first["metadata"].get("annotations") or {}
    data = base64.b64decode(first["binaryData"]["part"])
    for number in range(1, int(said["highwater.dev/chunks"])):
        part = api.config_map(namespace, _name(name, number))
        if part is None:
            raise ArchiveError(
                f"the run of {namespace}/{name} is not whole: ConfigMap {_name(name, number)} is missing"
            )
        data += base64.b64decode(part["binaryData"]["part"])
    if hashlib.sha256(data).hexdigest() != said["highwater.dev/sha256"]:
        raise ArchiveError(f"the run of {namespace}/{name} is not what was stored: its parts are of several runs")
    target = _free(parent / Path(said["highwater.dev/directory"]).name)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        archive.extractall(target, filter="data")
    return target


def _free(wanted: Path) -> Path:
    number, candidate = 1, wanted
    while candidate.exists():
        number += 1
        candidate = wanted.with_name(f"{wanted.name}-{number}")
    return candidate


def _name(experiment: str, number: int) -> str:
    return f"{experiment}-run-{number}"


def _chunk(owner: Json, number: int, data: bytes, count: int, digest: str, directory: str) -> Json:
    metadata = owner["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": _name(metadata["name"], number),
            "namespace": metadata["namespace"],
            "labels": {"app.kubernetes.io/part-of": "highwater", "highwater.dev/experiment": metadata["name"][:63]},
            "annotations": {
                "highwater.dev/chunks": str(count),
                "highwater.dev/sha256": digest,
                "highwater.dev/directory": directory,
            },
            "ownerReferences": [
                {
                    "apiVersion": f"{GROUP}/{VERSION}",
                    "kind": "ChaosExperiment",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                }
            ],
        },
        "binaryData": {"part": base64.b64encode(data).decode()},
    }
