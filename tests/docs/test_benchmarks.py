"""Programs of ``benchmarks`` are run by hand, and rarely: each can at least be imported and asked what it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = sorted(
    ".".join(path.relative_to(BENCHMARKS.parent).with_suffix("").parts) for path in BENCHMARKS.rglob("*.py")
)
_HELP = """
import contextlib, importlib, io, json, runpy, sys
problems = {}
for name in sys.argv[1:]:
    sys.argv, said = [name, "--help"], io.StringIO()
    try:
        module = importlib.import_module(name)
        with open(module.__file__) as source, contextlib.redirect_stdout(said):
            if "__main__" in source.read():
                runpy.run_module(name, run_name="__main__", alter_sys=True)
                problems[name] = "ran, and did not stop at --help"
    except SystemExit as end:
        if end.code not in (0, None) or not said.getvalue().startswith("usage: "):
            problems[name] = f"exit status {end.code}, {said.getvalue()!r}"
    except BaseException as error:
        problems[name] = repr(error)
print(json.dumps(problems))
"""


def test_each_says_what_it_takes() -> None:
    assert len(MODULES) > 30
    done = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", _HELP, *MODULES],
        cwd=BENCHMARKS.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {}, done.stderr
