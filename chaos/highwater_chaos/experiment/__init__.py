"""The experiment file: its model, its reader, and what is wrong with it when it is wrong.

The models load on first use: a command that only needs the names of nodes (:mod:`.nodes`) does without pydantic.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from highwater_chaos.experiment.assertions import PHASES, Assertion, PrometheusServer
    from highwater_chaos.experiment.errors import ExperimentError, Problem
    from highwater_chaos.experiment.load import dump_experiment, load_experiment, parse_experiment
    from highwater_chaos.experiment.model import ChaosExperiment, Cluster, Expectation, ExperimentSpec
    from highwater_chaos.experiment.workload import Workload

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

_HOME = {
    "PHASES": "assertions",
    "Assertion": "assertions",
    "ChaosExperiment": "model",
    "Cluster": "model",
    "Expectation": "model",
    "ExperimentError": "errors",
    "ExperimentSpec": "model",
    "Problem": "errors",
    "PrometheusServer": "assertions",
    "Workload": "workload",
    "dump_experiment": "load",
    "load_experiment": "load",
    "parse_experiment": "load",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
