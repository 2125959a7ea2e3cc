"""Seeds that raise, hang or take their process along, and processes that others kill: the campaign goes on."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import until

from highwater_chaos.campaign import seed
from highwater_chaos.campaign.processes import on_processes
from highwater_chaos.campaign.seed import Outcome, SeedJob

RAISES, SLEEPS, SPINS, HANGS_IN_C, EXITS, IS_KILLED_ONCE, SPINS_IN_C, IS_STOPPED = range(101, 109)


def fate_of(unit: SeedJob, marker: Path) -> Outcome:
    match unit.seed:
        case 101:
            raise ValueError("seed 101 went wrong")
        case 102:
            time.sleep(3600)
        case 103:
            while True:
                pass
        case 104:  # as native code that never returns to Python
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
            time.sleep(3600)
        case 105:
            os._exit(7)
        case 106 if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        case 107:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF})
            while True:
                pass
        case 108:  # as on a machine that runs something else for longer than the seed may take
            subprocess.Popen(["/bin/sh", "-c", f"sleep 1.3; kill -CONT {os.getpid()}"])
            os.kill(os.getpid(), signal.SIGSTOP)
    return Outcome(unit.experiment, unit.seed, unit.variant, "pass")


def test_each_bad_seed_is_an_outcome_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed, "_GRACE_SECONDS", 1)
    monkeypatch.setattr(seed, "_REAL_TIME", 30)  # a busy machine may be slow to give a seed its processor time
    monkeypatch.setattr(seed, "_judged", lambda unit: fate_of(unit, tmp_path / "killed"))
    bad = [RAISES, SLEEPS, SPINS, HANGS_IN_C, EXITS, IS_KILLED_ONCE, SPINS_IN_C, IS_STOPPED]
    seeds = [1, 2, *bad, *range(3, 40)]
    found = {one.seed: one for one in on_processes((SeedJob("x", number, patience=1) for number in seeds), 3)}
    assert sorted(found) == sorted(seeds)
    errors = {number: one.reasons[0] for number, one in found.items() if one.verdict == "error"}
    assert sorted(errors) == [RAISES, SLEEPS, SPINS, HANGS_IN_C, EXITS, SPINS_IN_C]
    assert "ValueError: seed 101 went wrong" in errors[RAISES]
    assert "the seed took longer than --patience (real time, 30 times over)" in errors[SLEEPS]
    assert "the seed took longer than --patience (processor time)" in errors[SPINS]
    assert errors[SPINS_IN_C] == "its process ended, 2 times: signal SIGXCPU"
    assert errors[HANGS_IN_C] == "its process ended, 2 times: exit status 1"
    assert errors[EXITS] == "its process ended, 2 times: exit status 7"
    assert (found[IS_KILLED_ONCE].verdict, found[IS_KILLED_ONCE].attempts) == ("pass", 2)


def test_what_the_parent_has_not_collected_its_processes_do_not_collect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of librdkafka that is destroyed in a forked process ends it: its threads are in the parent alone."""
    parent, marker = os.getpid(), tmp_path / "destroyed"

    class Client:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            if os.getpid() != parent:
                marker.touch()

    def collect(unit: SeedJob) -> Outcome:
        gc.collect()
        return Outcome(unit.experiment, unit.seed, unit.variant, "pass")

    monkeypatch.setattr(seed, "_judged", collect)
    gc.disable()
    try:
        Client()
        found = list(on_processes((SeedJob("x", number) for number in (1, 2)), 2))
    finally:
        gc.enable()
    assert [one.verdict for one in found] == ["pass", "pass"]
    assert not marker.exists()


def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path) -> None:
    """Somebody kills the process that runs a seed: the seed is run again, and no other one notices."""
    victim = tmp_path / "pid"

    def run(unit: SeedJob) -> Outcome:
        if unit.seed == 3 and not victim.exists():
            victim.write_text(str(os.getpid()))
            signal.pause()
        if unit.seed == 4:
            until(lambda: victim.exists() and victim.read_text() != "", "it to come about")
            os.kill(int(victim.read_text()), signal.SIGKILL)
        return Outcome(unit.experiment, unit.seed, unit.variant, "pass")

    found = list(on_processes((SeedJob("x", number) for number in range(1, 9)), 2, run))
    assert sorted((one.seed, one.verdict, one.attempts) for one in found) == [
        (number, "pass", 2 if number == 3 else 1) for number in range(1, 9)
    ]


DRIVER = """
import os, sys, time
from highwater_chaos.campaign.processes import on_processes
from highwater_chaos.campaign.seed import Outcome, SeedJob

def run(unit):
    os.write(1, b"%d\\n" % os.getpid())  # at once: two processes write here
    if unit.seed > 2:
        return Outcome("x", unit.seed, "", "pass")
    while os.getppid() == DRIVER:
        time.sleep(0.01)
    return Outcome("x", unit.seed, "", "pass")

DRIVER = os.getpid()
list(on_processes((SeedJob("x", n) for n in range(1, 5)), 2, run))
"""


def test_processes_end_with_a_driver_that_is_killed() -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    try:
        workers = [int(driver.stdout.readline()) for _ in range(2)]
    finally:
        driver.kill()
        driver.wait()
    until(lambda: not any(is_running(pid) for pid in workers), "it to come about")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
