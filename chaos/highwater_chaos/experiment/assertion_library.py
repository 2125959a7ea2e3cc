"""Assertions by name: ``{use: no-unclean-election}`` in place of a condition in PromQL.

Each is a condition of metrics that brokers and controllers of both modes have, under the names by which Kafka's are
known, in the phase in which a healthy cluster keeps it. ``docs/experiments.md`` lists them; a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple


class LibraryAssertion(NamedTuple):
    """One of them. ``within``: its usual time, if it must hold ``eventually``; None: it cannot be given."""

    meaning: str
    promql: str
    during: Literal["steady", "fault", "recovered"]
    must: Literal["always", "never", "eventually"] = "always"
    within: str | None = None


_CONTROLLER: Final = "kafka_controller_kafkacontroller"
_REPLICAS: Final = "kafka_server_replicamanager"

LIBRARY: Final[Mapping[str, LibraryAssertion]] = {
    "one-active-controller": LibraryAssertion(
        "before the first fault exactly one node is the active controller",
        f"sum({_CONTROLLER}_activecontrollercount) == 1",
        "steady",
    ),
    "controller-recovers": LibraryAssertion(
        "after the last heal there is one active controller again",
        f"sum({_CONTROLLER}_activecontrollercount) == 1",
        "recovered",
        "eventually",
        "30s",
    ),
    "no-offline-partition": LibraryAssertion(
        "before the first fault every partition has a leader",
        f"max({_CONTROLLER}_offlinepartitionscount) == 0",
        "steady",
    ),
    "offline-partitions-recover": LibraryAssertion(
        "after the last heal every partition has a leader again",
        f"max({_CONTROLLER}_offlinepartitionscount) == 0",
        "recovered",
        "eventually",
        "30s",
    ),
    "under-replicated-recovers": LibraryAssertion(
        "after the last heal all replicas are in sync again",
        f"sum({_REPLICAS}_underreplicatedpartitions) == 0",
        "recovered",
        "eventually",
        "60s",
    ),
    "under-min-isr-recovers": LibraryAssertion(
        "after the last heal no ISR is smaller than min.insync.replicas",
        f"sum({_REPLICAS}_underminisrpartitioncount) == 0",
        "recovered",
        "eventually",
        "60s",
    ),
    "no-unclean-election": LibraryAssertion(
        "no replica outside the ISR is elected while faults are in force",
        "sum(increase(kafka_controller_controllerstats_uncleanleaderelections_total[10s])) > 0",
        "fault",
        "never",
    ),
    "isr-stable": LibraryAssertion(
        "before the first fault no ISR shrinks",
        f"sum(increase({_REPLICAS}_isrshrinks_total[10s])) > 0",
        "steady",
        "never",
    ),
    "isr-settles": LibraryAssertion(
        "after the last heal no ISR has shrunk for five seconds: none flaps",
        f"sum(increase({_REPLICAS}_isrshrinks_total[5s])) == 0",
        "recovered",
        "eventually",
        "60s",
    ),
    "isr-updates-succeed": LibraryAssertion(
        "before the first fault no leader fails to write an ISR",
        f"sum(increase({_REPLICAS}_failedisrupdates_total[10s])) > 0",
        "steady",
        "never",
    ),
    "writes-progress": LibraryAssertion(
        "after the last heal records are appended again",
        "sum(increase(kafka_server_brokertopicmetrics_messagesin_total[5s])) > 0",
        "recovered",
        "eventually",
        "30s",
    ),
    "no-failed-replica": LibraryAssertion(
        "after the last heal every replica is on a disk that works, and none has given up fetching",
        f"sum({_REPLICAS}_offlinereplicacount) + sum(kafka_server_replicafetchermanager_failedpartitionscount) == 0",
        "recovered",
        "eventually",
        "60s",
    ),
}
