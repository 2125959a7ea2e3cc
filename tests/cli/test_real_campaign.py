"""A campaign on real processes: what did not pass is kept, for no seed can be run again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from highwater_chaos.campaign.plan import Plan, Series
from highwater_chaos.campaign.real import drawn_for_this_machine, jobs_here
from highwater_chaos.experiment.load import dump_experiment, parse_experiment


@pytest.mark.thorough
def test_a_campaign_on_real_processes_keeps_what_failed(highwater: Any, tiny: str) -> None:
    passes = highwater.write("passes.yaml", tiny)
    failing = tiny.replace("name: tiny", "name: tiny-failing")
    lasting = "max(kafka_controller_kafkacontroller_offlinepartitionscount) == 7"
    failing += f"  assertions: [{{name: none, during: steady, promql: '{lasting}', always: true}}]\n"
    fails, out = highwater.write("fails.yaml", failing), highwater.folder / "c"
    command = ("campaign", passes, fails, "--backend", "local", "--seeds", "1", "--out", out)
    done = highwater(*command, "--json")
    rows = {row["experiment"]: row["verdicts"] for row in done.json["rows"]}
    assert (done.status, rows) == (1, {"tiny": {"pass": 1}, "tiny-failing": {"fail": 1}})
    kept = sorted((out / "runs").iterdir())
    assert [json.loads((run / "verdict.json").read_text())["seed"] for run in kept] == [1]
    page = (out / "campaign.html").read_text(encoding="utf-8")
    assert f"runs/{kept[0].name}/report.html" in page.replace("%3D", "=")
    assert "transitions" not in page
    # What is known is not run again.
    done = highwater(*command, "--resume")
    assert (done.status, sorted((out / "runs").iterdir())) == (1, kept)
    assert "1 seed of 2 failed" in done.out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["random", "--kafka", "4.4.0"], "the simulator runs no Apache Kafka; add --backend local"),
        (["random", "--kafka", "2.8.2", "--backend", "local"], "mode kraft is not meant for production below 3.3.0"),
        (["tiny.yaml", "--backend", "local", "--shrink", "9"], "--shrink runs seeds again, in the simulator"),
        (["tiny.yaml", "--backend", "local", "--engine", "spark"], "--engine spark runs seeds in the simulator"),
        (["tiny.yaml", "--backend", "local", "--wire"], "--wire is for the simulator"),
    ],
)
def test_what_real_processes_do_not_take_is_refused(highwater: Any, tiny: str, given: list[str], says: str) -> None:
    highwater.write("tiny.yaml", tiny)
    done = highwater("campaign", *given)
    assert done.status == 254
    assert says in done.err


@pytest.mark.parametrize("release", ["", "4.4.0"])
def test_every_experiment_that_is_drawn_can_be_read_again(release: str) -> None:
    """A run directory keeps the text, and the report reads it."""
    for seed in range(1, 60):
        experiment = drawn_for_this_machine(seed, "", release)
        assert parse_experiment(dump_experiment(experiment), "drawn") == experiment
        config = experiment.cluster.config
        if release:  # KafkaConfig requires it
            wait, lag = config["replica.fetch.wait.max.ms"], config.get("replica.lag.time.max.ms", 30_000)
            assert int(wait) <= int(lag)
            assert not any("segment.bytes" in topic.config for topic in experiment.cluster.topics)


def test_as_many_clusters_run_as_the_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    free = "highwater_chaos.campaign.real._available_mib"
    plan = Plan((Series("random kafka=4.4.0", "pass", release="4.4.0"),), range(1, 9), is_real=True)
    monkeypatch.setattr(free, lambda: 10_000)
    assert 1 < jobs_here(plan) < 10
    monkeypatch.setattr(free, lambda: 100)
    assert jobs_here(plan) == 1
