"""Look whether a compiled build can work: run in a process that uses it (``HIGHWATER_COMPILED``).

    python scripts/check_compiled.py

All modules of the runtime and of the harness are imported. Then it is looked for Python classes that derive from
compiled ones: mypyc lets them be defined, but none can be instantiated, which shows when a run gets there. Exits 1 and
names them if there are any. ``scripts/compile_runtime.py`` runs it after each build.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Final

PACKAGES: Final = ("highwater_runtime", "highwater_chaos")


def main() -> None:
    """Import everything, then look."""
    for package in PACKAGES:
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith(".__main__"):
                import_module(module.name)
    derived = sorted({(name(cls), name(base)) for base in compiled_classes() for cls in python_classes_below(base)})
    for cls, base in derived:
        print(f"{cls} is Python and derives from {base}, which is compiled: compile both or neither", file=sys.stderr)
    sys.exit(bool(derived))


def name(cls: type) -> str:
    """With its module."""
    return f"{cls.__module__}.{cls.__qualname__}"


def is_compiled(cls: type) -> bool:
    """Whether mypyc made a native class of it. Tuples and enumerations stay Python and may be derived from."""
    return "__mypyc_attrs__" in vars(cls)


def compiled_classes() -> list[type]:
    """Of all modules that have been imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith(PACKAGES)]
    return [
        value for module in modules for value in vars(module).values() if isinstance(value, type) and is_compiled(value)
    ]


def python_classes_below(cls: type) -> Iterator[type]:
    """The first ones below ``cls`` that are not compiled."""
    for derived in type.__subclasses__(cls):
        if is_compiled(derived):
            yield from python_classes_below(derived)
        else:
            yield derived


if __name__ == "__main__":
    main()
