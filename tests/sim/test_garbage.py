"""The garbage collector comes back as it was."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc
from highwater_runtime.sim import freeze_collector, frozen_collector
from highwater_runtime.sim.garbage import THRESHOLDS

before = gc.get_threshold()
with frozen_collector():
    assert gc.get_threshold() == THRESHOLDS
    assert gc.get_freeze_count() > 0
assert gc.get_threshold() == before
assert gc.get_freeze_count() == 0

freeze_collector()
with frozen_collector():
    assert gc.get_threshold() == THRESHOLDS
assert gc.get_threshold() == THRESHOLDS
assert gc.get_freeze_count() > 0
"""


def test_the_collector_is_frozen_within_the_block_or_as_long_as_it_was() -> None:
    """In a process of its own: that of the tests has frozen its collector."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
