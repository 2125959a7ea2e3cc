"""How long a process waits for a processor, as the kernel counts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from waiting import until

from highwater_chaos.machine.kernel.proc import ProcessorTime, processor_time_of

SPIN = "import os\nos.sched_setaffinity(0, {%d})\nprint(flush=True)\nwhile True: pass"


@pytest.fixture
def spinning() -> Iterator[list[int]]:
    """Two processes that want the same processor, one of which gets what the other leaves."""
    processor = min(os.sched_getaffinity(0))
    command = [sys.executable, "-c", SPIN % processor]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        os.sched_setscheduler(both[0].pid, os.SCHED_IDLE, os.sched_param(0))
        yield [one.pid for one in both]
    finally:
        for one in both:
            one.kill()
            one.communicate()


def test_who_waits_for_a_processor_is_seen_to(spinning: list[int]) -> None:
    starved, greedy = spinning

    def used(pid: int) -> ProcessorTime:
        found = processor_time_of(pid)
        assert found is not None
        return found

    until(lambda: used(starved).waited > 1e9, "it has waited for a second")
    assert used(starved).waited > 5 * used(starved).ran
    assert used(greedy).ran > used(starved).ran


def test_what_is_gone_has_none() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert processor_time_of(gone.pid) is None
