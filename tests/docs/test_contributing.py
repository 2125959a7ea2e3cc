"""CONTRIBUTING.md leads from a clone to a green test of a new fault, by its files and commands as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

HEADING = "Your first fault, in ten minutes"
FILES = re.compile(r"[Ww]rite\s`([^`]+)`:\n\n```\w+\n(.*?)^```$", flags=re.M | re.S)
SCRIPTS = {
    "highwater": "from highwater_chaos.cli import main; main()",
    "pytest": "import sys, pytest; sys.exit(pytest.main())",
}


def environment_of_a_checkout(root: Path) -> None:
    """What ``make setup`` leaves: an environment, here one that has all of this one and can have more."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    (site,) = (root / ".venv").glob("lib/python*/site-packages")
    (site / "checkout.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    for name, code in SCRIPTS.items():
        script = root / ".venv/bin" / name
        script.write_text(f"#!{root}/.venv/bin/python\n{code}\n")
        script.chmod(0o755)


@pytest.mark.thorough
def test_from_a_clone_to_a_green_test_of_a_new_fault(contributing: Any, root: Path, tmp_path: Path) -> None:
    section = contributing.section(HEADING)
    first, last, then = re.findall(r"^```console\n(.*?)^```$", section, flags=re.M | re.S)
    clone, setup, *more = (line.removeprefix("$ ") for line in first.splitlines())
    assert clone.startswith("git clone URL ")
    assert re.match(r"make (\w+)", setup)[1] == "setup"
    environment_of_a_checkout(tmp_path)
    done = run(tmp_path, more)
    written = FILES.findall(section)
    assert len(written) == 4
    for name, text in written:
        (tmp_path / name).write_text(text, encoding="utf-8")  # in a folder that the commands before have made
    removal = re.findall(r"`(\.venv/bin/python -m pip uninstall[^`]+)`", section)
    done = run(tmp_path, [line.removeprefix("$ ") for line in last.splitlines()])
    assert "PASS as expected: blackout" in done
    assert re.search(r"\b2 passed\b", done), done
    run(tmp_path, removal)
    refused = subprocess.run(
        [".venv/bin/highwater", "validate", "build/blackout/blackout.yaml"], cwd=tmp_path, check=False
    )
    assert refused.returncode == 254, "the fault is gone"
    assert all((root / place).exists() for place in then.removeprefix("$ ").split()[1:])


def run(folder: Path, lines: list[str]) -> str:
    done = subprocess.run(
        ["bash", "-e"], input="\n".join(lines), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
