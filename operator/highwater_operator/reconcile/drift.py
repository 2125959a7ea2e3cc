"""Whether a live object still is what it should be.

Every applied object carries a hash of its manifest. The same hash, and every field of the manifest found in the live
object: nothing to do, and nothing is sent. The same hash, and a field that is otherwise: another writer has changed it.
Fields that the manifest does not name are others' own, and left alone.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final

from highwater_chaos.kube.kinds import Json

APPLIED: Final = "highwater.dev/applied"

_KEYED: Final = frozenset(
    {
        "containers",
        "env",
        "initContainers",
        "ownerReferences",
        "ports",
        "topologySpreadConstraints",
        "volumeMounts",
        "volumes",
    }
)
"""Lists to which others may add (server-side apply merges them by key); all others are one value."""
_ATOMIC: Final = frozenset({"labelSelector", "namespaceSelector", "podSelector", "selector"})
"""Maps that are one value: a Service with one key more in its selector finds no pods."""
_KINDS_WITHOUT_KEYED: Final = frozenset({"NetworkPolicy"})


def stamped(manifest: Json) -> Json:
    """The manifest with its hash."""
    text = blake2b(json.dumps(manifest, sort_keys=True).encode(), digest_size=8).hexdigest()
    annotations = {**manifest["metadata"].get("annotations", {}), APPLIED: text}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def is_current(wanted: Json, live: Json) -> bool:
    """Whether the last manifest that was applied is ``wanted`` (stamped), whatever became of it since."""
    found = live["metadata"].get("annotations", {}).get(APPLIED)
    return bool(found == wanted["metadata"]["annotations"][APPLIED])


def difference(wanted: Json, live: Json) -> str | None:
    """Path of the first field of ``wanted`` that ``live`` lacks or has otherwise; None: it has them all."""
    return _differs(wanted, live, "", merges=wanted["kind"] not in _KINDS_WITHOUT_KEYED)


def _differs(wanted: Any, live: Any, path: str, *, merges: bool) -> str | None:
    match wanted, live:
        case dict(), dict() if path.rpartition(".")[2] in _ATOMIC:
            return None if wanted == live else path
        case dict(), dict():
            for key, value in wanted.items():
                here = f"{path}.{key}".lstrip(".")
                if key not in live:
                    if value in ({}, [], None):
                        continue  # the API server leaves out what is empty
                    return here
                if (found := _differs(value, live[key], here, merges=merges)) is not None:
                    return found
            return None
        case list(), list():
            name = path.rpartition(".")[2]
            if merges and name in _KEYED:
                # The order of containers and variables matters; that of owners does not, and releases of Kubernetes
                # merge them differently.
                rest = live if name == "ownerReferences" else iter(live)
                for index, value in enumerate(wanted):
                    if not any(_differs(value, one, path, merges=merges) is None for one in rest):
                        return f"{path}[{index}]"
                return None
            if len(wanted) != len(live):
                return path
            for index, (value, one) in enumerate(zip(wanted, live, strict=True)):
                if (found := _differs(value, one, f"{path}[{index}]", merges=merges)) is not None:
                    return found
            return None
        case _:
            return None if wanted == live else path
