"""The compiled build of this package, where the environment asks for it.

``scripts/compile_runtime.py`` compiles most modules of the runtime into a directory of its own. If the environment
variable ``HIGHWATER_COMPILED`` names that directory, this process imports them from there, and so do its children.
Without it a process runs the Python sources, which are the reference: a run leaves the same recordings with and without
(``tests/compiled``).

A build is used only if it was made from exactly the sources that are here, and for this interpreter. Anything else is
an ImportError, never a silent way back to Python.
"""

from __future__ import annotations

import hashlib
import json
import sys
import sysconfig
from collections.abc import Mapping
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any, Final

SETTING: Final = "HIGHWATER_COMPILED"
MANIFEST: Final = "manifest.json"
SUFFIX: Final = str(sysconfig.get_config_var("EXT_SUFFIX"))
SOURCES: Final = Path(__file__).parent


def in_force() -> str:
    """What made the modules of this process: ``mypyc`` and its version; empty if they are plain Python."""
    return next((finder.made_by for finder in sys.meta_path if isinstance(finder, _Finder)), "")


def digest_of_sources() -> str:
    """SHA-256 over the names and bytes of all modules of the package: what a build was made from."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        digest.update(f"{path.relative_to(SOURCES).as_posix()} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def use(directory: str) -> None:
    """Import from the build in ``directory`` what it has. Called before any other module of the package is imported.

    Raises:
        ImportError: there is no whole build, or it was made from other sources or for another interpreter. Its ``name``
            is :data:`SETTING`.
    """
    place = Path(directory).resolve()
    manifest = manifest_in(place)
    if manifest is None:
        why = "no finished build is there"
    elif manifest["suffix"] != SUFFIX:
        why = f"built for {manifest['suffix']}, this Python has {SUFFIX}"
    elif manifest["sources"] != digest_of_sources():
        why = f"built from other sources than those in {SOURCES}"
    elif missing := sorted(file for file in set(manifest["modules"].values()) if not (place / file).is_file()):
        why = f"the build is not whole, {missing[0]} is missing"
    else:
        files = {name: str(place / file) for name, file in manifest["modules"].items()}
        sys.meta_path.insert(0, _Finder(files, manifest["made_by"]))
        return
    again = f"build it again (make compiled), or unset {SETTING}"
    raise ImportError(f"{SETTING}={directory}: {why}; {again}", name=SETTING)


def manifest_in(place: Path) -> dict[str, Any] | None:
    """What a build says of itself; None if there is none, or if it was not written to its end."""
    try:
        found = json.loads((place / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.keys() >= {"made_by", "sources", "suffix", "modules"} else None


class _Finder:
    """Finds the compiled modules by their names."""

    def __init__(self, files: Mapping[str, str], made_by: str) -> None:
        self.files = files
        self.made_by = made_by

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        file = self.files.get(name)
        return None if file is None else spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))
