"""What happened to the partitions of a run, in words that another run of the same schedule can share.

No two runs have the same records or times. What can be compared is the order of committed states, who refused what, who
cut its log back, and whether the replicas' logs are the same in the end. Leader epochs are counted from the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from highwater_chaos.report.files import BadRunFileError, Row
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.run_tables import open_run

STATES: Final = "leaders and ISRs"
REFUSED: Final = "refused proposals of the leader"
CUT: Final = "truncations"
LOGS: Final = "logs at the end"

Happened = Mapping[tuple[str, str], str]
"""By partition and one of the labels, in words. A label is missing where the nodes do not report it."""


def happened(directory: Path, events: Iterable[Row]) -> Happened:
    """Of each partition of users. Raises :class:`BadRunFileError` for a dump that cannot be read."""
    told: dict[tuple[str, str], list[str]] = {}
    refused: dict[str, Counter[str]] = {}
    cut: dict[str, Counter[str]] = {}
    first: dict[tuple[str, str], int] = {}
    epochs: dict[tuple[str, str], int] = {}
    for row in events:
        name = str(row.get("partition") or "")
        if not name or name.startswith("__"):
            continue
        match row["kind"]:
            case "partition-changed":
                key = name, str(row.get("topic_id"))
                if int(row["partition_epoch"]) <= epochs.get(key, -1):
                    continue  # another node reports what is known
                epochs[key] = int(row["partition_epoch"])
                epoch = int(row["leader_epoch"]) - first.setdefault(key, int(row["leader_epoch"]))
                isr = " ".join(map(str, sorted(row["isr"])))
                told.setdefault((name, STATES), []).append(f"{row['leader']} in epoch {epoch}, ISR {isr}")
            case "alter-partition-handled":
                if row["reason"] != "NONE":
                    refused.setdefault(name, Counter())[str(row["reason"])] += 1
            case "log-truncated":
                cut.setdefault(name, Counter())[str(row["node"])] += 1
    found = {key: " → ".join(_without_repeats(states)) for key, states in told.items()}
    for label, counted in ((REFUSED, refused), (CUT, cut)):
        for name, counts in counted.items():
            found[name, label] = ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))
    return {**found, **{(name, LOGS): text for name, text in _logs(directory)}}


def _without_repeats(states: Iterable[str]) -> Iterator[str]:
    """Several changes of one state may show the same: a replica that is added, say."""
    before = None
    for state in states:
        if state != before:
            yield state
        before = state


def _logs(directory: Path) -> Iterator[tuple[str, str]]:
    digests: dict[str, dict[int, str]] = {}
    try:
        dumps = open_run(directory).replica_log
        hashed: dict[tuple[str, int], blake2b] = {}
        for part in dumps or ():
            names = ("partition", "broker", "offset", "leader_epoch", "crc")
            for name, broker, *record in zip(*(part[column].to_pylist() for column in names), strict=True):
                hashed.setdefault((name, broker), blake2b()).update(repr(record).encode())
    except BadTableError as error:
        raise BadRunFileError(str(error)) from error
    for (name, broker), one in sorted(hashed.items()):
        digests.setdefault(name, {})[broker] = one.hexdigest()
    for name, of_brokers in digests.items():
        if not name.startswith("__"):
            alike: dict[str, list[int]] = {}
            for broker, digest in of_brokers.items():
                alike.setdefault(digest, []).append(broker)
            groups = [" ".join(map(str, brokers)) for brokers in alike.values()]
            yield name, f"the same on {groups[0]}" if len(groups) == 1 else f"different on {' | '.join(groups)}"
