"""From what checks and faults say to one verdict, and whether it is the one that the experiment expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from highwater_chaos.experiment import Expectation, ExperimentSpec
from highwater_runtime.switches import SWITCHES


def switches_in_force(given: Mapping[str, str]) -> dict[str, str]:
    """Every switch with its value: the given ones, and the defaults of the others."""
    return {name: given.get(name, switch.default) for name, switch in SWITCHES.items()}


def expectation_for(spec: ExperimentSpec, given: Mapping[str, str]) -> Expectation:
    """The first entry of ``expect`` whose ``when`` matches the switches in force; a pass where none does."""
    in_force = switches_in_force(given)
    for entry in spec.expect:
        if all(in_force[name] == value for name, value in entry.when.items()):
            return entry
    return Expectation(verdict="pass")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a verdict compares with what was expected; ``why_not`` is empty where it is as expected."""

    why_not: str

    @property
    def as_expected(self) -> bool:
        """Whether the run came out as the experiment says."""
        return not self.why_not


def compare(expected: Expectation, verdict: str, anomalies: Sequence[str]) -> Comparison:
    """Compare a verdict and the names of the anomalies found with the expectation.

    A fail may show more anomalies than those expected: one loss is often seen by several checks.
    """
    if verdict != expected.verdict:
        return Comparison(f"expected {expected.verdict}, found {verdict}")
    missing = [name for name in expected.anomalies if name not in anomalies]
    if missing:
        return Comparison(f"expected {', '.join(missing)} among the anomalies, found {', '.join(anomalies) or 'none'}")
    return Comparison("")
