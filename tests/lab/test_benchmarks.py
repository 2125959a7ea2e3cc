"""Benchmarks are run by hand, and rarely: each can at least be imported and asked what it takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

LAB = Path(__file__).parents[2] / "lab"
MODULES = sorted(
    ".".join(path.relative_to(LAB).with_suffix("").parts)
    for path in (LAB / "highwater_lab/benchmarks").rglob("*.py")
    if path.name != "__init__.py"
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
    assert len(MODULES) > 22
    done = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", _HELP, *MODULES],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {}, done.stderr


def test_the_page_of_the_laboratory_names_each_program() -> None:
    page = (LAB.parent / "docs/internals/laboratory.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0] for line in page[page.index("## Benchmarks") :].splitlines() if line.startswith("| `")]
    programs = {
        name
        for path in (LAB / "highwater_lab/benchmarks").rglob("*.py")
        for name in re.findall(r"^ *python -m highwater_lab\.benchmarks\.(\w+)", path.read_text(encoding="utf-8"), re.M)
    }
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == programs
