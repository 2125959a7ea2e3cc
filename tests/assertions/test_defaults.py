"""The assertion that is on by default: it finds what it is for, and is silent about everything else."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from highwater_chaos.assertions import check_assertions
from highwater_chaos.assertions.defaults import COUNTER, NAME, allows_unclean_elections
from highwater_chaos.experiment import ChaosExperiment, load_experiment
from highwater_chaos.verdict.checked_run import run_and_check
from highwater_runtime.controller.kraft import published

KRAFT = "brokers: 2, controllers: 1"
ZOOKEEPER = "mode: zookeeper, brokers: 2"


def parsed(folder: Path, cluster: str = KRAFT) -> ChaosExperiment:
    file = folder / "defaults.yaml"
    file.write_text(
        f"""\
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: defaults}}
spec:
  seed: 3
  timeout: 1m
  cluster: {{{cluster}, topics: [{{name: orders, partitions: 1, replicationFactor: 2}}]}}
  workload: {{producers: 1, rate: 20/s, consumers: 1}}
  schedule: [{{wait: 1s}}]
"""
    )
    return load_experiment(file)


def test_an_election_that_nothing_allows_fails_the_run(tmp_path, monkeypatch):
    # A controller that counts one where a partition is made.
    monkeypatch.setattr(published, "_is_recovering", lambda state: state is not None)
    done = run_and_check(parsed(tmp_path), "sim", tmp_path, lambda _: None, varied={}, wire=False)
    assert done.verdict["verdict"] == "fail"
    (one,) = done.verdict["assertions"]
    assert (one["name"], one["holds"]) == (NAME, False)
    assert f"assertion {NAME}: {COUNTER} > 0 held at" in done.verdict["reasons"][0]
    assert NAME in (done.directory / "report.html").read_text()
    spec = load_experiment(done.directory / "experiment.yaml").spec
    assert [found.to_dict() for found in check_assertions(spec, done.directory)] == done.verdict["assertions"]
    off = spec.model_copy(update={"default_assertions": False})
    assert check_assertions(off, done.directory) == []

    # Without metrics nothing follows.
    (done.directory / "metrics" / "samples.parquet").unlink()
    assert check_assertions(spec, done.directory) == []


def test_it_is_silent_where_it_holds(tmp_path):
    done = run_and_check(parsed(tmp_path), "sim", tmp_path, lambda _: None, varied={}, wire=False)
    assert (done.verdict["verdict"], done.verdict["assertions"]) == ("pass", [])
    names = set(pq.read_table(done.directory / "metrics" / "samples.parquet")["name"].to_pylist())
    assert COUNTER in names, "it was judged by something"


@pytest.mark.parametrize(
    ("cluster", "allows"),
    [
        (KRAFT, False),
        (f"{KRAFT}, switches: {{pre-vote: off}}", False),
        (f"{KRAFT}, config: {{unclean.leader.election.enable: true}}", True),
        (f"{KRAFT}, config: {{unclean.leader.election.enable: false}}", False),
        (ZOOKEEPER, False),
        (f"{ZOOKEEPER}, switches: {{unclean-leader-election: off}}", False),
        (f"{ZOOKEEPER}, switches: {{unclean-leader-election: on}}", True),
        (f"{ZOOKEEPER}, switches: {{init-leaderless-isr: on}}", True),
    ],
)
def test_when_an_unclean_election_is_allowed(tmp_path, cluster, allows):
    assert allows_unclean_elections(parsed(tmp_path, cluster).spec) is allows


@pytest.mark.parametrize(
    ("step", "allows"),
    [
        ("inject: {name: unclean, restart: {target: {broker: 0}, config: {log.flush.interval.ms: 5}}}", False),
        ("inject: {restart: {target: {broker: 0}, config: {unclean.leader.election.enable: true}}}", True),
        ("admin: {createTopic: {name: unclean}}", False),
        ("admin: {createTopic: {name: more, config: {unclean.leader.election.enable: 'true'}}}", True),
    ],
)
def test_what_a_step_sets_allows_one_and_a_name_does_not(tmp_path, step, allows):
    file = tmp_path / "defaults.yaml"
    parsed(tmp_path)
    file.write_text(file.read_text().replace("[{wait: 1s}]", f"[{{{step}}}]"))
    assert allows_unclean_elections(load_experiment(file).spec) is allows
