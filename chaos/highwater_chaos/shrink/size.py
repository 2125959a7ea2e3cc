"""How large an experiment is, in what a reader has to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from highwater_chaos.base.words import counted
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.steps import Step


class Size(NamedTuple):
    """``steps`` that act: waits, and what only holds other steps, do not count."""

    steps: int
    nodes: int
    partitions: int

    def __str__(self) -> str:
        return f"{counted(self.steps, 'step')}, {counted(self.nodes, 'node')}, {counted(self.partitions, 'partition')}"


def size_of(experiment: ChaosExperiment) -> Size:
    """The size of an experiment whose schedule is written out."""
    cluster = experiment.cluster
    quorum = cluster.controllers if cluster.mode == "kraft" else cluster.zookeepers
    partitions = sum(len(topic.assignment) if topic.assignment else topic.partitions for topic in cluster.topics)
    return Size(sum(1 for _ in _acting(experiment.spec.schedule)), cluster.brokers + quorum, partitions)


def _acting(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        if step.parallel is not None:
            for branch in step.parallel:
                yield from _acting(branch)
        elif step.wait is None:
            yield step
