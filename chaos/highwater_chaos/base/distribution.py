"""The distribution that this package comes in: its name, its version, and the extra that brings a package.

The distribution is not called as the command is: ``highwater`` on PyPI is another project's.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

DISTRIBUTION: Final = "highwater-chaos"
"""As in ``pyproject.toml``; a test compares them."""

_REQUIREMENT = re.compile(r"""^([A-Za-z0-9._-]+).*;.*\bextra\s*==\s*["']([a-z0-9-]+)["']""")
_PACKAGES = {"re2": "google-re2", "yaml": "pyyaml", "py4j": "pyspark"}
"""Package by the module that it brings, where their names differ by more than hyphens."""
_FIRST = ("chaos", "pipeline", "drivers", "zookeeper", "operator")
"""The extras that are named where several bring a package: those for one purpose."""


def installed_version() -> str:
    """Return the version that is installed; ``unknown`` if the package was not installed but put on a path."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def installing(extra: str) -> str:
    """Return the command that adds an extra to what is installed. It takes Highwater itself from nowhere."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def run_command(name: str, module: str, lacking: int, *, extra: str = "") -> None:
    """Run the function ``main`` of a command's module and leave with its status.

    Without a package that the module needs, say on stderr which extra brings it, and leave with the status ``lacking``.
    ``extra``: the one that brings all that this command needs.
    """
    try:
        main = import_module(module).main
    except ModuleNotFoundError as error:
        if (needed := missing_extra(error, extra)) is None:
            raise
        sys.stderr.write(f"{name}: {needed}\n")
        sys.exit(lacking)
    sys.exit(main())


def missing_extra(error: ModuleNotFoundError, of: str = "") -> str | None:
    """Return what to say of an import that failed; None: no extra brings that module, so it is a fault of ours.

    ``of``: the extra to name, whichever brings it; empty: one that does.
    """
    module = (error.name or "").partition(".")[0]
    package = _PACKAGES.get(module, module.replace("_", "-"))
    try:
        found = [_REQUIREMENT.match(one) for one in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        return None
    extras = {match[2]: None for match in found if match and match[1].lower() == package}
    extra = next((one for one in (*_FIRST, *extras) if one in extras), None)
    if extra is None:
        return None
    return f"expected the package {package}; found none: {installing(of or extra)}"
