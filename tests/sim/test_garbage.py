"""The garbage collector comes back as it was."""

from __future__ import annotations

import gc

from highwater_runtime.sim import frozen_collector
from highwater_runtime.sim.garbage import THRESHOLDS


def test_the_collector_is_frozen_within_the_block_only():
    before = gc.get_threshold()
    with frozen_collector():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
