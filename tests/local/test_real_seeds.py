"""What ``highwater_lab.benchmarks.real_seeds`` draws is a file that a reader of experiments takes."""

from __future__ import annotations

import pytest

from highwater_chaos.experiment.load import dump_experiment, parse_experiment
from highwater_lab.benchmarks.real_seeds import drawn


@pytest.mark.parametrize("apache_kafka", [False, True])
def test_every_drawn_experiment_can_be_read_again(apache_kafka: bool) -> None:
    """A run directory keeps the text, and the report reads it."""
    experiments = [drawn(seed, apache_kafka=apache_kafka) for seed in range(1, 101)]
    found = [experiment for experiment in experiments if experiment is not None]
    assert len(found) > 50
    for experiment in found:
        assert parse_experiment(dump_experiment(experiment), "drawn") == experiment
        config = experiment.cluster.config
        if apache_kafka:  # KafkaConfig requires it
            wait, lag = config["replica.fetch.wait.max.ms"], config.get("replica.lag.time.max.ms", 30_000)
            assert int(wait) <= int(lag)
