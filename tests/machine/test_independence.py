"""The Kubernetes agent takes the machine as it is, so nothing else of ours may come with it."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import highwater_chaos.machine

LOOK = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
ours = ("highwater_runtime", "highwater_pipeline", "highwater_chaos")
print(*sorted(name for name in sys.modules if name.startswith(ours)))
"""


def test_it_imports_nothing_else_of_ours() -> None:
    package = highwater_chaos.machine
    modules = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    done = subprocess.run([sys.executable, "-c", LOOK, *modules], capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(["highwater_chaos", package.__name__, *modules])
