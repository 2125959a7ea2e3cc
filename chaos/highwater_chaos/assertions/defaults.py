"""Assertions that hold of every run without being asked for, because they cannot be wrong.

There is one: **no unclean election where none is allowed**. Whether a leader is elected from outside the ISR is decided
by the controller's configuration alone, not by how fast a machine is or what a fault does; the counter exists from the
start in both modes, and it never goes down but with its process. All others of the library depend on time (a session
may expire on a slow machine before the first fault, a recovery may take longer) or on what the schedule does, so that a
file has to ask for them.

One that holds is not listed, and one that no sample says anything about does not count: neither changes what a run came
to before. ``spec.defaultAssertions: false`` turns it off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from highwater_chaos.experiment import ExperimentSpec
from highwater_chaos.experiment.properties import elects_uncleanly, properties_of_nodes, properties_of_topics
from highwater_runtime.switches import SWITCHES

NAME: Final = "no-unclean-election-where-none-is-allowed"
COUNTER: Final = "kafka_controller_controllerstats_uncleanleaderelections_total"
_ALLOWING: Final = ("unclean-leader-election", "init-leaderless-isr")


def allows_unclean_elections(spec: ExperimentSpec) -> bool:
    """Whether anything in an experiment may make an unclean election right, or is not known (a cluster that exists)."""
    nodes = properties_of_nodes(spec)
    if spec.cluster is None or nodes is None:
        return True
    given = spec.cluster.switches
    if any(given.get(name, SWITCHES[name].default) != "off" for name in _ALLOWING):
        return True
    topics = [properties for _, properties in properties_of_topics(spec)]
    return any(map(elects_uncleanly, [*nodes, *topics]))


def first_unclean_election(directory: Path) -> tuple[int, str, float] | None:
    """When, in ns of run time, which node had counted how many; None: none had, or there are no samples.

    Raises:
        OSError, ValueError: the samples cannot be read.
    """
    file = directory / "metrics" / "samples.parquet"
    if not file.exists():
        return None
    table = pq.read_table(file, columns=["time_ns", "node", "value", "name"])
    counted = table.filter(pc.and_(pc.equal(table["name"].cast(pa.string()), COUNTER), pc.greater(table["value"], 0)))
    rows = sorted(
        zip(
            counted["time_ns"].to_pylist(),
            counted["node"].cast(pa.string()).to_pylist(),
            counted["value"].to_pylist(),
            strict=True,
        )
    )
    return rows[0] if rows else None
