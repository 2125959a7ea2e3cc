"""A short, repeatable run over the targets of the benchmark ``fuzz``, which looks for longer and with more cunning.

Inputs are random bytes, and examples of real ones with some bytes changed, cut out or doubled.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import highwater_lab
from highwater_lab.benchmarks import fuzz

WIRE = settings.get_profile("wire")
LABORATORY = Path(highwater_lab.__file__).parent
_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)


def _mutant(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0:
                del out[at : at + rng.randint(1, 8)]
            case 1:
                out[at:at] = rng.randbytes(rng.randint(1, 8))
            case 2:
                out[at:at] = out[at : at + rng.randint(1, 64)]
            case 3:
                out[at : at + 4] = b"\x7f\xff\xff\xff"
            case _:
                out[at : at + 1] = bytes([rng.choice(_INTERESTING)])
    return bytes(out)


@pytest.mark.parametrize("target", list(fuzz.TARGETS))
def test_examples_and_what_is_like_them(target, thorough):
    run = fuzz.TARGETS[target]()
    rng = random.Random(target)
    examples = list(fuzz.examples(target))
    assert examples
    for example in examples:
        run(example)
        for _ in range(max(2, (3000 if thorough else 500) // len(examples))):
            run(_mutant(example, rng))


@pytest.mark.parametrize("target", list(fuzz.TARGETS))
def test_any_bytes(target, thorough):
    run = fuzz.TARGETS[target]()

    @settings(WIRE, max_examples=300 if thorough else 60)
    @given(st.binary(max_size=400))
    def check(data):
        run(data)

    check()


def test_the_fuzzer_finds_a_fault_and_names_the_input(tmp_path):
    pytest.importorskip("atheris", reason="atheris is not installed")
    broken = shutil.copytree(LABORATORY, tmp_path / "highwater_lab")
    targets = broken / "benchmarks/fuzzing/protocol.py"
    targets.write_text(
        targets.read_text(encoding="utf-8").replace(
            "    return run\n\n\ndef sasl",
            "    def faulty(data: bytes) -> None:\n        run(data)\n        assert data[2:5] != b'\\0\\0\\0'\n\n"
            "    return faulty\n\n\ndef sasl",
        ),
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "highwater_lab.benchmarks.fuzz", "batches", "--seconds", "20"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED" in done.stdout
    log = Path(done.stdout.rpartition("see ")[2].strip())
    assert "AssertionError" in log.read_text(errors="replace")
    assert list(log.parent.glob("crash-*"))
