"""Campaigns on a standalone Spark cluster, whose workers share nothing with the driver but an object store.

Workers run in mount namespaces in which the driver's directory, the sources and /tmp are empty.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli import execute
from highwater_pipeline.java import find_java
from highwater_pipeline.spark import class_archive
from highwater_pipeline.tables.remote import located

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(os.geteuid() != 0, reason="mount namespaces need root"),
]
HIGHWATER = Path(sys.executable).with_name("highwater")
TINY = Path(__file__).parents[1] / "tiny-experiment.yaml"

BAD_SEEDS = """
import json, os, sys
from highwater_chaos.campaign.on_spark import on_spark
from highwater_chaos.campaign.seed import Outcome, SeedJob
from highwater_pipeline.spark import open_session

import highwater_chaos.campaign.seed as seeds
sources = sys.argv[2]

def run(unit):
    import os, time, highwater_chaos
    from highwater_chaos.campaign import seed
    def judged(unit):
        if unit.seed == 3:
            raise KeyError("this seed raises")
        if unit.seed == 5:
            while True:
                pass
        if unit.seed == 7:
            os._exit(7)
        time.sleep(0.3)
        here = f"{highwater_chaos.__file__} {os.path.exists(sources)} {os.getcwd()}"
        return Outcome(unit.experiment, unit.seed, "", "pass", reasons=(here,))
    seed._judged = judged
    return seed.run_seed_job(unit)

with open_session(sys.argv[1]) as spark:
    for one in on_spark((SeedJob("x", number, patience=2) for number in range(1, 41)), spark, 5, run):
        print(json.dumps([one.seed, one.verdict, one.attempts, one.reasons]), flush=True)
"""


@pytest.fixture(scope="module")
def cluster(
    s3_server: Any, spark_cluster: Any, tmp_path_factory: pytest.TempPathFactory, thorough: bool
) -> Iterator[Any]:
    """``make thorough`` kills one of its workers, so it has two."""
    folder = tmp_path_factory.mktemp("driver")
    # These JVMs live for seconds.
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *class_archive.jvm_options(find_java()))
    with spark_cluster.standalone(folder, s3_server.environment, 2 if thorough else 1, jvm=quick) as started:
        yield started


@pytest.fixture
def environment(spark_cluster: Any, cluster: Any, s3: Any) -> dict[str, str]:
    """Of a driver."""
    made: dict[str, str] = spark_cluster.driver_environment(cluster)
    return made


DRIVER = """
import json, sys
from highwater_chaos.cli import execute
for arguments in json.loads(sys.argv[1]):
    assert execute(arguments) == 0, arguments
"""
"""Several commands with one JVM."""


def documents(text: str) -> Iterator[Any]:
    """The JSON documents that follow each other."""
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        yield document
        text = text[end:]


@pytest.mark.thorough
def test_a_campaign_and_a_check_of_all_its_runs(
    cluster: Any, environment: dict[str, str], s3: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def both(place: str, *more: str) -> list[list[str]]:
        campaign = [*("campaign", str(TINY), "--seeds", "1..4", "--out", f"{place}/campaign")]
        return [
            [*campaign, *("--store", f"{place}/stored"), *(("--engine", "spark") if more else ()), *more, "--json"],
            ["check", f"{place}/stored", *more, "--json"],
        ]

    there = both(s3.address, "--master", cluster.master)
    command = [sys.executable, "-c", DRIVER, json.dumps(there)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    campaign, judged = documents(done.stdout)
    assert (campaign["rows"][0]["seeds"], campaign["stored"]) == (4, 4)

    for command in both(str(tmp_path)):
        capsys.readouterr()
        assert execute(command) == 0
    local = json.loads(capsys.readouterr().out)
    results = located(f"{s3.address}/campaign/results.parquet").read_bytes()
    assert results == (tmp_path / "campaign" / "results.parquet").read_bytes()
    found, wanted = (
        [{name: value for name, value in row.items() if name != "path"} for row in one["runs"]]
        for one in (judged, local)
    )
    assert (len(found), found) == (4, wanted)


@pytest.mark.thorough
def test_a_driver_that_is_killed_goes_on(cluster: Any, environment: dict[str, str], s3: Any, tmp_path: Path) -> None:
    campaign = [HIGHWATER, "campaign", TINY, "--seeds", "1..16"]
    there = ["--engine", "spark", "--master", cluster.master, "--out", f"{s3.address}/killed"]
    driver = subprocess.Popen([*campaign, *there], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL)
    pieces = located(f"{s3.address}/killed/journal")
    while driver.poll() is None and not pieces.exists():
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL
    for where in ([*there, "--resume"], ["--out", tmp_path / "here"]):
        done = subprocess.run([*campaign, *where], env=environment, cwd=tmp_path, check=False, capture_output=True)
        assert done.returncode == 0, done.stderr
    results = located(f"{s3.address}/killed/results.parquet").read_bytes()
    assert results == (tmp_path / "here" / "results.parquet").read_bytes()


@pytest.mark.thorough
def test_an_honest_table_of_bad_seeds_and_a_worker_that_is_killed(
    spark_cluster: Any, cluster: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    sources = spark_cluster.ROOT / "chaos" / "highwater_chaos"
    driver = subprocess.Popen(
        [sys.executable, "-c", BAD_SEEDS, cluster.master, sources],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert driver.stdout is not None
    rows = []
    for line in driver.stdout:
        rows.append(json.loads(line))
        if len(rows) == 5:
            cluster.kill_worker(0)
    assert driver.wait() == 0
    found = {seed: (verdict, attempts, why) for seed, verdict, attempts, why in rows}
    assert (len(rows), sorted(found)) == (40, list(range(1, 41))), "each seed once"
    assert sorted(seed for seed, (verdict, *_) in found.items() if verdict != "pass") == [3, 5, 7]
    assert "this seed raises" in found[3][2][0]
    assert "the seed took longer than --patience" in found[5][2][0]
    assert "its Spark task failed, 2 times alone" in found[7][2][0]
    module, sources_seen, folder = found[1][2][0].split()
    assert module.startswith(f"{spark_cluster.INSIDE}/packages/"), "from the wheel"
    assert (sources_seen, folder.startswith(f"{spark_cluster.INSIDE}/work")) == ("False", True)
