"""Coverage-guided fuzzing of everything that reads bytes from a network or a disk that may lie.

    python -m highwater_lab.benchmarks.fuzz --seconds 60            every target, so long each
    python -m highwater_lab.benchmarks.fuzz --seconds 600 batches   one of them

A target takes any bytes and may end in the one exception type that it promises, and in nothing else; what it does
decode must survive being encoded and decoded again. Each runs in a process of its own under libFuzzer (``atheris``),
starting from one full and one empty example of each message. In the end it says how many inputs it has run, and how
many memory blocks the process has more than after its first quarter: garbage that stays is a leak. A crash, a leak, a
time-out or too much memory for one input makes the exit status 1; the input is left in the directory that is named.
"""

# What is fuzzed is imported late, while atheris watches imports to instrument them.
# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import gc
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from highwater_lab.benchmarks.fuzzing import agent, protocol
from highwater_lab.benchmarks.fuzzing.examples import examples
from highwater_lab.benchmarks.fuzzing.protocol import Target

_LEAKED_BLOCKS = 20_000
"""Growth beyond this is a leak. Caches of bounded size (UUIDs, compiled patterns) need some."""
_BYTES_OF_ONE_INPUT = 4096

TARGETS: dict[str, Callable[[], Target]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        *(protocol.messages, protocol.requests, protocol.responses, protocol.stream, protocol.metadata_records),
        *(protocol.coordinator_records, protocol.batches, protocol.sasl),
        *(agent.agent_control, agent.agent_answers, agent.agent_http),
    )
}


def _instrumented(compiled: Callable[..., Any], instrument: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: instrument(compiled(*arguments))


def fuzz(target: str, seconds: float, directory: Path) -> None:
    """Run one target in this process; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["highwater_runtime", "highwater_operator", "highwater_chaos.machine"]):
        run = TARGETS[target]()
    from highwater_runtime.wire import codec
    from highwater_runtime.wire.generator import functions

    functions.compiled = _instrumented(functions.compiled, atheris.instrument_func)  # what is generated is not imported

    corpus = directory / "corpus"
    corpus.mkdir()
    for number, data in enumerate(examples(target)):
        (corpus / str(number)).write_bytes(data)
        with suppress(Exception):  # libFuzzer runs it again, and reports
            run(data)  # what is generated on first use shall not count as a leak

    begin = time.monotonic()
    after_warming: list[int] = []
    next_look = [0.0]
    runs = 0

    def blocks() -> int:
        codec._uuids.clear()
        gc.collect()
        return sys.getallocatedblocks()

    def one(data: bytes) -> None:
        nonlocal runs
        runs += 1
        run(data)
        if runs % 128 == 0:
            passed = time.monotonic() - begin
            if not after_warming and passed > seconds / 4:
                after_warming.append(blocks())
            elif after_warming and passed > next_look[0]:
                next_look[0] = passed + 1
                after_warming[1:] = [blocks()]
                (directory / "counts").write_text(f"{runs} {passed:.1f} {after_warming[0]} {after_warming[1]}")

    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={max(2, round(seconds))}",
            f"-max_len={_BYTES_OF_ONE_INPUT}",
            "-timeout=10",
            "-rss_limit_mb=1024",
            "-print_final_stats=1",
            f"-artifact_prefix={directory}/",
            str(corpus),
        ],
        one,
    )
    atheris.Fuzz()


def main() -> int:
    """Fuzz the chosen targets, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="default: all")
    parser.add_argument("--seconds", type=float, default=30, help="for each target")
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.within is not None:
        fuzz(options.targets[0], options.seconds, options.within)
        return 0
    failures = 0
    print(f"{'target':20} {'executions':>12} {'per second':>11} {'blocks':>9} {'growth':>8} {'peak MiB':>9}")
    for target in options.targets or TARGETS:
        directory = Path(tempfile.mkdtemp(prefix=f"highwater-fuzz-{target}-"))
        command = [sys.executable, "-m", "highwater_lab.benchmarks.fuzz", target]
        command += ["--seconds", str(options.seconds), "--within", str(directory)]
        log = directory / "log"
        with log.open("wb") as out:
            status = subprocess.run(
                command, stdout=out, stderr=subprocess.STDOUT, check=False, env=os.environ
            ).returncode
        counts = directory / "counts"
        if status != 0 or not counts.exists():
            failures += 1
            print(f"{target:20} FAILED with status {status}; see {log}")
            continue
        runs, passed, before, after = counts.read_text().split()
        text = log.read_text(errors="replace")
        executions = re.search(r"stat::number_of_executed_units:\s+(\d+)", text)
        peak = re.search(r"stat::peak_rss_mb:\s+(\d+)", text)
        growth = int(after) - int(before)
        leaks = growth > _LEAKED_BLOCKS
        failures += leaks
        total = int(executions[1]) if executions else int(runs)
        print(
            f"{target:20} {total:12,} {int(runs) / float(passed):11,.0f} {int(after):9,} {growth:+8,}"
            f" {peak[1] if peak else '?':>9}{'  LEAK' if leaks else ''}",
            flush=True,
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
