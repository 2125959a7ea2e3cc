"""A Spark cluster of separate machines, as far as one machine can: a campaign over it, and a check of all its runs.

    python -m highwater_lab.benchmarks.spark_cluster [--seeds 200] [--workers 2] [EXPERIMENT|random]

Needs root, for mount namespaces. A standalone master and its workers are those of PySpark's own jars. Each worker is in
a mount namespace in which the driver's directories, the sources and ``/tmp`` are empty: it has a directory of its own,
with Highwater unpacked from a wheel, and shares with the driver nothing but an S3-compatible server (the tests' one),
the Python packages that Highwater needs, and loopback.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyspark

from highwater_pipeline.java import find_java

ROOT = Path(__file__).parents[3]
INSIDE = "/mnt"
"""A worker's own directory, as it sees it."""
_START_SECONDS = 90


@dataclass
class Cluster:
    """A master and workers that run."""

    master: str
    workers: list[subprocess.Popen[str]]
    environment: dict[str, str]
    """That of workers, and what a driver needs to use the object store."""

    def kill_worker(self, number: int) -> None:
        """End a worker with all that it has started, as a machine that loses power does."""
        worker = self.workers[number]
        with suppress(psutil.NoSuchProcess):
            for process in [*psutil.Process(worker.pid).children(recursive=True), psutil.Process(worker.pid)]:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
        worker.wait()


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """An S3-compatible server with a bucket ``runs-of-highwater``; yields the environment of those who use it."""
    program = Path(sys.prefix) / "s3-server" / "bin" / "moto_server"
    with subprocess.Popen([program, "-H", "127.0.0.1", "-p", "0"], stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            endpoint = next(found[0] for line in server.stderr if (found := re.search(r"http://127.0.0.1:\d+", line)))
            threading.Thread(target=server.stderr.read, daemon=True).start()  # a line for each request
            urllib.request.urlopen(urllib.request.Request(f"{endpoint}/runs-of-highwater", method="PUT")).close()
            yield {
                "AWS_ACCESS_KEY_ID": "AKIAHIGHWATERTEST",
                "AWS_SECRET_ACCESS_KEY": "not-to-be-seen-anywhere",
                "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": endpoint,
            }
        finally:
            server.kill()


@contextmanager
def standalone(
    folder: Path, store: Mapping[str, str], workers: int = 2, cores: int = 1, jvm: Sequence[str] = ()
) -> Iterator[Cluster]:
    """A standalone cluster; everything below ``folder`` is the driver's and is hidden from workers. ``jvm``: options
    of every JVM that is no driver's."""
    wheel = _wheel(folder)
    with ExitStack() as stack:
        outside = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="highwater-cluster-", dir="/var/tmp")))
        environment = {
            "PATH": os.environ["PATH"],
            "JAVA_HOME": str(find_java().home),
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_SCALA_VERSION": "2.13",  # sbin's scripts set it
            **store,
        }
        own_jvm = {**environment, **({"JDK_JAVA_OPTIONS": " ".join(jvm)} if jvm else {})}  # executors inherit it
        master = stack.enter_context(_process(own_jvm, outside, _java("master.Master", "--port", "0")))
        url = _wait_for(master, r"Starting Spark master at (spark://\S+)")
        started = []
        for number in range(workers):
            own = outside / f"worker-{number}"
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(own / "packages")
            (own / "work").mkdir()
            command = _java(
                "worker.Worker",
                *("--port", "0", "--cores", str(cores), "--memory", "2g", "--work-dir", f"{INSIDE}/work", url),
            )
            hidden = [
                folder,
                *(ROOT / name for name in ("runtime", "chaos", "pipeline", "operator", "lab", "scenarios")),
            ]
            (own / "environment").mkdir()
            script = "\n".join(
                [
                    "set -e",
                    f'mount --bind "{own}" {INSIDE}',
                    f'mount --bind "{sys.prefix}" {INSIDE}/environment',
                    *(f'mount -t tmpfs none "{one}"' for one in hidden),
                    "mount -t tmpfs none /tmp",
                    "mount -t tmpfs none /var/tmp",
                    f'mkdir -p "{sys.prefix}"',  # where it was below /tmp
                    f'mount --bind {INSIDE}/environment "{sys.prefix}"',
                    f"cd {INSIDE}",
                    'exec "$@"',
                ]
            )
            inside = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *command]
            started.append(stack.enter_context(_process({**own_jvm, "PYTHONPATH": f"{INSIDE}/packages"}, own, inside)))
        for worker in started:
            _wait_for(worker, r"Successfully registered with master")
        for process in (master, *started):
            assert process.stderr is not None
            threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Cluster(url, started, environment)


def driver_environment(cluster: Cluster) -> dict[str, str]:
    """The environment of a driver on this machine."""
    return {**os.environ, **cluster.environment, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def _java(program: str, *arguments: str) -> list[str]:
    java = find_java()
    home = Path(pyspark.__file__).parent
    (logging_api,) = (home / "jars").glob("slf4j-api-*.jar")
    jars = f"{home}/conf:{logging_api}:{home}/jars/*"  # as Spark has it, and our archive of its classes
    return [
        *(str(java.home / "bin" / "java"), "-Xmx512m", "-XX:+UseSerialGC", "-cp", jars),
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        *(f"org.apache.spark.deploy.{program}", "--host", "127.0.0.1", "--webui-port", "0", *arguments),
    ]


@contextmanager
def _process(environment: dict[str, str], cwd: Path, command: list[str]) -> Iterator[subprocess.Popen[str]]:
    cwd.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(command, env=environment, cwd=cwd, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        process.kill()
        process.wait()


def _wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Read what a process says until a line matches; return the first group, or the match."""
    assert process.stderr is not None
    said = []
    timer = threading.Timer(_START_SECONDS, process.kill)
    timer.start()
    try:
        for line in process.stderr:
            said.append(line)
            if found := re.search(pattern, line):
                return found[found.lastindex or 0]
    finally:
        timer.cancel()
    raise RuntimeError(f"expected {pattern!r} within {_START_SECONDS} s; found:\n{''.join(said[-30:])}")


def _wheel(folder: Path) -> Path:
    out = folder / "wheel"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


def main() -> None:
    """Run a campaign over a cluster, check all its runs, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", nargs="?", default="random")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    program = shutil.which("highwater", path=str(Path(sys.executable).parent)) or "highwater"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # and everything that was started with it
    experiment = given.experiment if given.experiment == "random" else str(Path(given.experiment).absolute())
    place = "s3a://runs-of-highwater"
    with (
        tempfile.TemporaryDirectory(prefix="highwater-driver-") as folder,
        s3_server() as store,
        standalone(Path(folder), store, given.workers) as cluster,
    ):
        where = ["--engine", "spark", "--master", cluster.master, "--json"]
        seeds = ["--seeds", f"1..{given.seeds}", "--out", f"{place}/campaign", "--store", f"{place}/store"]
        for arguments in (["campaign", experiment, *seeds, *where], ["check", f"{place}/store", *where]):
            began = time.monotonic()
            done = subprocess.run(
                [program, *arguments],
                cwd=folder,
                env=driver_environment(cluster),
                stdout=subprocess.PIPE,
                check=False,
                text=True,
            )
            wall = time.monotonic() - began
            if not done.stdout:
                sys.exit(f"{arguments[0]}: status {done.returncode}")
            print(f"{arguments[0]}: status {done.returncode}, {wall:.1f} s, {_summary(json.loads(done.stdout))}")


def _summary(found: dict[str, Any]) -> str:
    if "rows" in found:
        return f"{found['rows'][0]['verdicts']}, {found['stored']} runs stored"
    rows = found.get("runs", [found])
    counts = {
        verdict: sum(row.get("verdict") == verdict for row in rows) for verdict in ("pass", "fail", "inconclusive")
    }
    return f"{len(rows)} runs: {counts}, {sum('error' in row for row in rows)} not judged"


if __name__ == "__main__":
    main()
