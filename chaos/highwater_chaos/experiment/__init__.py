"""The experiment file: its model, its reader, and what is wrong with it when it is wrong."""

from highwater_chaos.experiment.assertions import PHASES, Assertion, PrometheusServer
from highwater_chaos.experiment.errors import ExperimentError, Problem
from highwater_chaos.experiment.load import dump_experiment, load_experiment, parse_experiment
from highwater_chaos.experiment.model import ChaosExperiment, Cluster, Expectation, ExperimentSpec, Workload

__all__ = [
    "PHASES",
    "Assertion",
    "ChaosExperiment",
    "Cluster",
    "Expectation",
    "ExperimentError",
    "ExperimentSpec",
    "Problem",
    "PrometheusServer",
    "Workload",
    "dump_experiment",
    "load_experiment",
    "parse_experiment",
]
