"""What tests of several areas share."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import gc
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, settings

from highwater_chaos.base.quantities import EventsPerSecond
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.machine.kernel import linux, proc
from highwater_pipeline.tables.remote import _filesystem
from highwater_runtime.sim.garbage import freeze_collector

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "shared"))  # for ``import waiting`` and its neighbours from any test

from work_units import rank, unit_of, waits  # noqa: E402

SHORT_NS = 2_000_000_000

# The same examples in every run, on a machine as slow as it likes: what a run finds is the fault of what has changed.
# ``--hypothesis-profile=default`` looks for others.
settings.register_profile(
    "repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

THOROUGH = os.environ.get("HIGHWATER_THOROUGH") == "1"
"""`make thorough`, every night: as many examples as each test says, and the tests with the mark `thorough`."""
QUICK_EXAMPLES = 10
"""How many of them `make test` tries, the first ones. Tests of fewer are run whole."""
QUICK_EXAMPLES_OF_MANY = 2
"""Where a test has parameters, as with each of 140 messages: so many for each."""
QUICK_PROGRAMS = 20
"""How many programs of a state machine."""


def pytest_configure(config: pytest.Config) -> None:
    """Let processes of tests get the signals that they are tested with, and keep the mounts of tests to themselves.

    A shell that starts this in the background, or ``nohup``, has signals ignored, and a program inherits that. A
    handler it does not inherit.
    """
    if os.geteuid() == 0 and sys.platform == "linux":
        _own_mounts()
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, lambda *_: None)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def _own_mounts() -> None:
    """Give this process, a worker say, a mount namespace of its own.

    Whoever starts a container gets copies of all mounts that it sees, and holds the file systems of tests that run at
    the same time elsewhere: their volumes are in use then, and are not removed.
    """
    table = Path("/proc/self/mountinfo").read_text(errors="surrogateescape")
    shared = any(" / / " in line and " shared:" in line for line in table.splitlines())
    others = [mount.point for mount in proc.mounts() if mount.source.startswith("/dev/loop")]
    try:
        linux.unshare(linux.CLONE_NEWNS)
        linux.mount("none", Path("/"), "", linux.MS_REC | linux.MS_PRIVATE)
    except OSError:
        return  # a container without the right to mount: tests that would are skipped
    if shared:  # as it is on most machines, and with other effects
        linux.mount("none", Path("/"), "", linux.MS_REC | linux.MS_SHARED)
    for point in reversed(others):
        if point.startswith(tempfile.gettempdir()):
            with contextlib.suppress(OSError):
                linux.umount(Path(point), linux.MNT_DETACH)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Hardly anything that is made meanwhile is garbage, and all of it would be looked at again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Thousands of tests and their modules are no garbage: the collector looks at them no more.

    Without this, simulations take up to twice the time.
    """
    freeze_collector()


@pytest.fixture(autouse=True)
def no_clients_are_left() -> Iterator[None]:
    """Find the test that leaves a process of clients behind, wherever it is, and not a later one that counts them."""
    yield
    deadline = time.monotonic() + 30
    while (left := clients_of_this_process()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == [], "processes of clients are left"


def clients_of_this_process() -> list[str]:
    """Their command lines. Asked after every test, so it looks around only where there are children at all."""
    from processes import children

    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # reaps nothing
    except ChildProcessError:
        return []
    found = []
    for pid in children(os.getpid()) or [child.pid for child in psutil.Process().children()]:
        with contextlib.suppress(psutil.NoSuchProcess):  # or a zombie: it has ended
            words = " ".join(psutil.Process(pid).cmdline())
            if "workload.drivers" in words:
                found.append(words)
    return found


@pytest.hookimpl(optionalhook=True)  # absent under -p no:xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Units(LoadScopeScheduling):
        """Every third worker takes what computes, while there is any, and the others what waits."""

        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            computes = self.nodes.index(node) % 3 == 2
            chosen = next((unit for unit in self.workqueue if waits(unit) != computes), None)
            if chosen is not None:
                self.workqueue.move_to_end(chosen, last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Units(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let ``make test`` try the first examples of those that ``make thorough`` tries, and no test that is marked so."""
    if (chosen_cases := item.get_closest_marker("quick")) and not item.callspec.id.startswith(chosen_cases.args):
        item.add_marker(pytest.mark.thorough)
    if not THOROUGH and item.get_closest_marker("thorough"):
        item.add_marker(pytest.mark.skip(reason="make thorough runs it"))
    test = getattr(item, "obj", None)
    chosen = getattr(test, "_hypothesis_internal_use_settings", None)
    machine = getattr(getattr(item, "cls", None), "settings", None)
    if not THOROUGH and isinstance(machine, settings) and machine.max_examples > QUICK_PROGRAMS:
        item.cls.settings = settings(machine, max_examples=QUICK_PROGRAMS)  # type: ignore[attr-defined]
    most = QUICK_EXAMPLES_OF_MANY if hasattr(item, "callspec") else QUICK_EXAMPLES
    if not THOROUGH and isinstance(chosen, settings) and chosen.max_examples > most:
        function = getattr(test, "__func__", test)
        function._hypothesis_internal_use_settings = settings(chosen, max_examples=most)


@functools.cache
def _lacking() -> str:
    """Why tests with the mark `whole_machine` cannot run here; empty: they can."""
    from highwater_chaos.machine.capabilities import available

    return "; ".join(f"{capability}: {reason}" for capability, reason in available().items() if reason is not None)


@pytest.hookimpl(optionalhook=True)  # absent under -p no:xdist
def pytest_configure_node(node: Any) -> None:
    """Try once for all workers what the machine can do: volumes are made for that, and namespaces."""
    node.workerinput["lacking"] = _lacking()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    whole = [item for item in items if item.get_closest_marker("whole_machine")]
    if whole and (lacking := config.workerinput["lacking"] if hasattr(config, "workerinput") else _lacking()):
        for item in whole:
            item.add_marker(pytest.mark.skip(reason=lacking))
    _look_for_quick_cases(config, items)
    on_spark = [item.nodeid for item in items if "spark" in getattr(item, "fixturenames", ())]
    if elsewhere := [nodeid for nodeid in on_spark if unit_of(nodeid) != "spark"]:
        raise pytest.UsageError(f"expected in SPARK, or one more worker starts a session of Spark: {elsewhere}")
    if not hasattr(config, "workerinput"):
        return
    units: dict[str, list[pytest.Item]] = {}
    for item in items:
        if THOROUGH or not item.get_closest_marker("thorough"):  # a third of all: to skip each costs seconds
            units.setdefault(unit_of(item.nodeid), []).append(item)
    items[:] = [item for name in sorted(units, key=rank) for item in units[name]]


def _look_for_quick_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A case that was renamed must not leave ``make test`` unnoticed. Known only where everything is collected."""
    if [Path(one).name for one in config.args] != ["tests"]:
        return
    cases: dict[tuple[Path, str, str], bool] = {}
    for item in items:
        if isinstance(item, pytest.Function) and (chosen := item.get_closest_marker("quick")):
            for start in chosen.args:
                case = item.path, item.originalname, start
                cases[case] = cases.get(case, False) or item.callspec.id.startswith(start)
    if unknown := [" ".join(map(str, case)) for case, is_there in cases.items() if not is_there]:
        raise pytest.UsageError(f"expected cases that begin so, found none; correct the mark `quick`: {unknown}")


@pytest.fixture
def fresh() -> Iterator[None]:
    """What this process found that the machine can do is neither taken from another test nor left to one."""
    from highwater_chaos.machine.capabilities import available

    available.cache_clear()
    yield
    available.cache_clear()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One session for the whole test run."""
    from highwater_pipeline.spark.session import open_session

    with open_session(master="local[2]") as session:
        yield session


@pytest.fixture(scope="session")
def thorough() -> bool:
    """Whether this is `make thorough`."""
    return THOROUGH


@pytest.fixture(scope="session")
def fewer_records() -> Callable[..., ChaosExperiment]:
    """In `make test` an experiment with at most so many records a second, for a run costs as much as it has records.
    `make thorough` runs what it ships."""

    def fewer(experiment: ChaosExperiment, most: float = 10) -> ChaosExperiment:
        spec = experiment.spec
        if THOROUGH or spec.workload.rate <= most:
            return experiment
        workload = spec.workload.model_copy(update={"rate": EventsPerSecond(most)})
        return experiment.model_copy(update={"spec": spec.model_copy(update={"workload": workload})})

    return fewer


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not come about is not waited for as long as on a busy machine."""
    from highwater_chaos.faults import FaultContext, nodes, restart, session_expiry, stop
    from highwater_chaos.faults.base import Fault

    monkeypatch.setattr(FaultContext.confirm, "__defaults__", (SHORT_NS,))
    monkeypatch.setattr(nodes.seen_down, "__defaults__", (SHORT_NS,))
    for module in (nodes, stop, restart):
        monkeypatch.setattr(module, "SHUTDOWN_NS", 3 * SHORT_NS)
    monkeypatch.setattr(restart, "BACK_NS", SHORT_NS)
    monkeypatch.setattr(session_expiry, "_SLACK_NS", SHORT_NS)
    for kind in (Fault, session_expiry.SessionExpiry):
        monkeypatch.setattr(kind, "healed_within_ns", SHORT_NS)


POISON = """
import os, sys
with open({found!r}, "a") as file:
    file.write(__name__ + " in " + " ".join(sys.orig_argv) + "\\n")
os._exit(99)
"""


@pytest.fixture(scope="session")
def poisoned_directory() -> Callable[[Path, Path], Path]:
    """Makes a directory in which each module and program that ours might take from it writes into a file who ran it."""

    def make(folder: Path, found: Path) -> Path:
        folder.mkdir()
        for name in {*sys.stdlib_module_names, *packages_distributions()}:
            (folder / f"{name}.py").write_text(POISON.format(found=str(found)))
        for program in ("java", "mvn", "nft", "mkfs.ext4", "bash", "env"):
            (folder / program).write_text(f"#!/bin/sh\necho {program} >>{found}\nexit 99\n")
            (folder / program).chmod(0o755)
        return folder

    return make


# --- Kafka's programs in Java ---

JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx256m")
"""Quick to start: these programs live for seconds."""
RESOLVE = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
INTEROP = Path(__file__).parent / "interop" / "java"


@pytest.fixture(scope="session")
def resolve_pom() -> Callable[[str], list[str]]:
    """The jars that a pom asks for, from Maven Central by way of Maven's own cache; skips where it cannot."""

    def resolve(pom: str) -> list[str]:
        for program in ("java", "javac", "mvn"):
            if shutil.which(program) is None:
                pytest.skip(f"needs {program} (Debian packages openjdk-17-jdk-headless and maven)")
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "highwater" / "interop"
        cache.mkdir(parents=True, exist_ok=True)
        known = cache / f"{hashlib.sha256(pom.encode()).hexdigest()[:16]}.classpath"
        with known.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several workers ask
            if known.exists():
                jars = known.read_text().split(os.pathsep)
                if all(Path(jar).exists() for jar in jars):
                    return jars
            file = known.with_suffix(".xml")
            file.write_text(pom)
            command = ["mvn", "-B", "-ntp", "-q", "-f", str(file), RESOLVE, f"-Dmdep.outputFile={known}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode != 0:
                known.unlink(missing_ok=True)
                pytest.skip(f"Maven could not resolve what this needs: {done.stdout.strip().splitlines()[0][:500]}")
            return known.read_text().split(os.pathsep)

    return resolve


@pytest.fixture(scope="session")
def kafka_jars(resolve_pom: Callable[[str], list[str]]) -> str:
    """Kafka's client and command line tools with all that they need, as a class path."""
    return os.pathsep.join(resolve_pom((INTEROP / "pom.xml").read_text()))


@pytest.fixture(scope="session")
def kafka_tool(kafka_jars: str) -> Callable[..., list[str]]:
    """The command line of one of Kafka's tools."""

    def command(name: str, *arguments: str) -> list[str]:
        main = name if name.startswith("kafka.") else f"org.apache.kafka.tools.{name}"
        return ["java", *JVM, "-cp", kafka_jars, main, *arguments]

    return command


@pytest.fixture(scope="session")
def interop_java(kafka_jars: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command line of ``Interop.java``, compiled once."""
    classes = tmp_path_factory.mktemp("classes")
    source = INTEROP / "Interop.java"
    compiler = ["javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
    subprocess.run([*compiler, "-cp", kafka_jars, "-d", str(classes), str(source)], check=True, timeout=120)
    return ["java", *JVM, "-cp", f"{kafka_jars}:{classes}", "Interop"]


@dataclass(frozen=True)
class ObjectStore:
    """A server that speaks S3, on loopback, with one bucket."""

    endpoint: str
    bucket: str
    environment: dict[str, str]

    @property
    def address(self) -> str:
        return f"s3a://{self.bucket}"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[ObjectStore]:
    """A real server, a program of its own, on a port that the system chose."""
    if not (Path(sys.prefix) / "s3-server" / "bin" / "moto_server").exists():
        pytest.skip("needs a server that speaks S3: make setup")
    from highwater_lab.benchmarks import spark_cluster

    with spark_cluster.s3_server() as environment:
        yield ObjectStore(environment["AWS_ENDPOINT_URL"], "runs-of-highwater", environment)


@pytest.fixture(scope="session")
def spark_cluster() -> ModuleType:
    """A standalone master and workers that share nothing with the driver but S3."""
    from highwater_lab.benchmarks import spark_cluster

    return spark_cluster


@pytest.fixture
def s3(s3_server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The same, with this process's environment set for it."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    _filesystem.cache_clear()  # another test's endpoint
    return s3_server
