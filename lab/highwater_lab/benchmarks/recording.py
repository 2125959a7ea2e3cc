"""A large run is written down and judged: from JSON Lines, and from Parquet that was written while it went on.

    python -m highwater_lab.benchmarks.recording --records 400000

Writes the files of clients and nodes of a run that never was: twelve partitions, three replicas, four processes of
clients; of each batch of ten records three ``log-appended`` events, one ``high-watermark`` and one
``batch-committed``. Then, each in a process of its own: what the harness does at the end of such a run with JSON Lines
(merge, write, digest, read, split, judge), and with Parquet. For Parquet, what is done *meanwhile* is given apart: it
is the work of another process while the run goes on. Prints processor time (user and system) and peak memory.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from highwater_chaos.records.dump import Dumped

PARTITIONS, PROCESSES, BATCH = 12, 4, 10
TOPIC_ID = "0" * 32


def main() -> int:
    """Generate, and measure each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--keep", type=Path, help="a directory for the files, which are used again if they are there")
    parser.add_argument("--part", choices=["jsonl", "parquet"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="highwater-recording-") as scratch:
        folder = given.keep or Path(scratch)
        if given.part is not None:
            {"jsonl": end_with_json_lines, "parquet": end_with_parquet}[given.part](folder)
            return 0
        folder.mkdir(exist_ok=True)
        if not (folder / "whole").exists():
            generate(folder, given.records)
        size = sum(path.stat().st_size for path in folder.glob("*.jsonl"))
        print(
            f"{given.records} records, {size / 1e9:.2f} GB of lines, load average {os.getloadavg()[0]:.0f}", flush=True
        )
        for part in ("jsonl", "parquet"):
            argv = [sys.executable, "-m", "highwater_lab.benchmarks.recording", "--part", part, "--keep", str(folder)]
            subprocess.run(argv, check=True)
    return 0


def generate(folder: Path, records: int) -> None:
    """The files of a run, by time."""
    history = [(folder / f"clients-{number}.jsonl").open("wb", 1 << 20) for number in range(PROCESSES)]
    nodes = [(folder / f"events-{number}.jsonl").open("wb", 1 << 20) for number in range(3)]
    index, end = [0] * PROCESSES, [0] * PARTITIONS

    def operation(number: int, now: int, process: int, kind: str, f: str, value: list[str], attempts: str = "") -> None:
        history[number].write(
            b'{"index":%d,"time":%d,"process":%d,"type":"%b","f":"%b","value":[%b],"client":"client-%d"%b}\n'
            % (
                index[number],
                now,
                process,
                kind.encode(),
                f.encode(),
                ",".join(value).encode(),
                number,
                attempts.encode(),
            )
        )
        index[number] += 1

    def event(node: int, now: int, text: str) -> None:
        nodes[node].write(
            b'{"time_ns":%d,"node_time_ns":%d,"node":"broker-%d","incarnation":1,%b}\n'
            % (now, now, node, text.encode())
        )

    for batch in range(records // BATCH):
        partition, number, now = batch % PARTITIONS, batch % (PROCESSES - 1), batch * 1_000_000
        name, first, leader = f"orders-{partition}", end[partition], partition % 3
        end[partition] += BATCH
        for at in range(BATCH):
            value = first * PARTITIONS + at * PARTITIONS + partition
            sent = f'{{"op":"send","key":"{name}","offset":null,"value":{value}}}'
            operation(number, now + at, at, "invoke", "send", [sent])
        where = f'"partition":"{name}","leader_epoch":0,"offset"'
        span = f'{where}:{first},"end_offset":{end[partition]}'
        for node in range(3):
            reason = "leader" if node == leader else "follower"
            event(node, now + 1000, f'"kind":"log-appended",{span},"reason":"{reason}"')
        event(leader, now + 2000, f'"kind":"high-watermark",{where}:{end[partition]}')
        event(leader, now + 2000, f'"kind":"batch-committed",{span},"epoch":0,"crc":{batch}')
        read = []
        for at in range(BATCH):
            value = first * PARTITIONS + at * PARTITIONS + partition
            offset = f'"key":"{name}","offset":{first + at},"value":{value}'
            operation(number, now + 3000 + at, at, "ok", "send", [f'{{"op":"send",{offset}}}'], ',"attempts":1')
            read.append(f'{{"op":"poll",{offset},"topic_id":"{TOPIC_ID}"}}')
        operation(PROCESSES - 1, now + 4000, partition, "invoke", "poll", [])
        operation(PROCESSES - 1, now + 5000, partition, "ok", "poll", read)
    for file in (*history, *nodes):
        file.close()
    (folder / "whole").write_text(str(end))


def dump(folder: Path) -> Iterator[Dumped]:
    """All replicas' logs, as if they had been read."""
    from highwater_chaos.records.dump import DumpedBatch, Mark, Replica  # noqa: PLC0415

    ends = [int(end) for end in (folder / "whole").read_text().strip("[]").split(",")]
    for broker in range(3):
        for partition, end in enumerate(ends):
            replica = Replica(broker, f"orders-{partition}", TOPIC_ID)
            for offset in range(0, end, BATCH):
                values = [at * PARTITIONS + partition for at in range(offset, offset + BATCH)]
                yield DumpedBatch(replica, offset, offset + BATCH, 0, 1, 0, offset, offset // BATCH, values)
            yield Mark(replica, end, "end", start_offset=0)


class Watch:
    """Processor time since it was last looked at, of this process and those that have ended."""

    def __init__(self) -> None:
        self._before = _seconds()
        self._wall = time.monotonic()

    def lap(self, what: str) -> None:
        """Print and begin anew."""
        now, wall = _seconds(), time.monotonic()
        print(f"  {what:48} {now - self._before:7.1f} s of processor time, {wall - self._wall:6.1f} s", flush=True)
        self._before, self._wall = now, wall


def _seconds() -> float:
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def _print_peak(whose: str, of: int) -> None:
    print(f"  {whose:48} {resource.getrusage(of).ru_maxrss >> 10:7d} MiB at most", flush=True)


def end_with_json_lines(folder: Path) -> None:
    """What follows the end of a run."""
    from highwater_chaos.backends.local.recording import EventLog  # noqa: PLC0415
    from highwater_chaos.base.lines import FileLines  # noqa: PLC0415
    from highwater_chaos.workload.history_files import MergedHistory  # noqa: PLC0415
    from highwater_pipeline.in_process import check_run  # noqa: PLC0415
    from highwater_pipeline.tables.run_tables import open_run  # noqa: PLC0415

    print("JSON Lines", flush=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        run = Path(made) / "run"
        for name in ("history", "events", "dumps"):
            (run / name).mkdir(parents=True)
        log = EventLog(0, spool=run)
        log.follow(sorted(folder.glob("events-*.jsonl")))
        watch = Watch()
        rows = FileLines(run / "dump.jsonl")
        rows.write(line for part in dump(folder) for line in part.lines())
        watch.lap("dump")
        FileLines(run / "history" / "operations.jsonl").write(MergedHistory(sorted(folder.glob("clients-*.jsonl"))))
        FileLines(run / "events" / "nodes.jsonl").write(log.lines())
        FileLines(run / "dumps" / "replica_log.jsonl").write(rows)
        watch.lap("merge and write")
        _digest(run)
        watch.lap("digests")
        run_verdict = check_run(open_run(run))
        watch.lap(f"judge ({run_verdict.verdict})")
        _print_peak("the harness", resource.RUSAGE_SELF)
        print(
            f"  {sum(one.stat().st_size for one in run.glob('*/*')) / 1e6:.0f} MB, {hash_of(run_verdict)}", flush=True
        )


def end_with_parquet(folder: Path) -> None:
    """What follows the end of a run whose files were converted meanwhile."""
    from highwater_chaos.run.recorder import Recorder  # noqa: PLC0415
    from highwater_chaos.run.recorder.dump import DumpFile  # noqa: PLC0415
    from highwater_pipeline.in_process import check_stored  # noqa: PLC0415
    from highwater_pipeline.partitions.recording import recorded_units  # noqa: PLC0415
    from highwater_pipeline.tables.settings import UNKNOWN  # noqa: PLC0415

    print("Parquet", flush=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        run, spool = Path(made) / "run", Path(made) / "spool"
        run.mkdir()
        spool.mkdir()
        recorder = Recorder(spool, run.name, 0, units=True, from_bytes=0)
        history, events = sorted(folder.glob("clients-*.jsonl")), sorted(folder.glob("events-*.jsonl"))
        recorder.look(history, events)
        meanwhile = _settled(recorder._process.pid)  # type: ignore[union-attr]
        print(f"  {'meanwhile, another process':48} {meanwhile:7.1f} s of processor time", flush=True)
        recorder.load_ended()
        watch = Watch()
        rows = DumpFile(spool / "dump.arrow", run.name)
        rows.write(dump(folder))
        watch.lap("dump")
        assert recorder.finish(run, history, events, rows.path, UNKNOWN, ("all",))
        assert recorder.done is not None
        watch._before += meanwhile
        watch.lap(f"the rest of the conversion ({recorder.done.left} rows, dump)")
        _digest(run)
        watch.lap("digests")
        stored = recorded_units(run, None)
        assert stored is not None
        run_verdict = check_stored(stored)
        watch.lap(f"judge ({run_verdict.verdict})")
        _print_peak("the harness", resource.RUSAGE_SELF)
        _print_peak("the recorder", resource.RUSAGE_CHILDREN)
        size = sum(one.stat().st_size for one in run.rglob("*") if one.is_file())
        print(f"  {size / 1e6:.0f} MB, {hash_of(run_verdict)}", flush=True)


def _settled(pid: int) -> float:
    """Wait until the process has nothing more to do for now; return the processor time that it has used."""
    before, idle = -1.0, 0
    while idle < 3:
        time.sleep(1)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        idle = idle + 1 if used - before < 0.05 else 0
        before = used
    return before


def _digest(run: Path) -> None:
    for path in run.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                hashlib.file_digest(file, "sha256")


def hash_of(run_verdict: Any) -> str:
    """Equal for equal verdicts."""
    return f"verdict {hashlib.sha256(run_verdict.to_json()).hexdigest()[:12]}"


if __name__ == "__main__":
    sys.exit(main())
