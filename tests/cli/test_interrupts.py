"""An interruption that native code or a finalizer gets in the way of is one all the same."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPLACED = """
class Model(pydantic.BaseModel):
    text: str = ""

    @pydantic.field_serializer("text")
    def interrupted(self, text):
        os.kill(os.getpid(), SIGNAL)
        return text

def strike():
    Model().model_dump()
"""
LOST = """
class Finalized:
    def __del__(self):
        os.kill(os.getpid(), SIGNAL)
        for _ in range(10): pass

def strike():
    Finalized()
    time.sleep(20)
    print("went on")
"""
PROGRAM = """
import importlib, os, signal, sys, time
import pydantic
run = importlib.import_module("highwater_chaos.cli.run")
from highwater_chaos.cli import main
{strike}
run.run_and_check = lambda *_, **__: strike()
main(["run", sys.argv[1]])
"""


@pytest.mark.quick("replaced by another exception-SIGTERM", "lost in a finalizer-SIGINT")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
@pytest.mark.parametrize("strike", [REPLACED, LOST], ids=["replaced by another exception", "lost in a finalizer"])
def test_it_is_an_interruption(tiny_file: Path, strike: str, number: signal.Signals) -> None:
    program = PROGRAM.format(strike=strike.replace("SIGNAL", f"signal.{number.name}"))
    done = subprocess.run([sys.executable, "-c", program, tiny_file], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "highwater: interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert "went on" not in done.stdout
