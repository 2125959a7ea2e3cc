"""lost-commit: an acknowledged commit of a group's offsets is not what a later fetch of offsets returns, nor is a later
commit.

Example: a group commits offset 40 of ``orders-0`` and gets the response. The broker that coordinates it dies. A member
joins the next coordinator, fetches the committed offsets, and gets 30, or none: the group reads records twice, or skips
them.

The rule: let ``last`` be the commit that began last of those that were acknowledged before the fetch began. The fetch
may return it, and every commit that did not certainly precede it: that was not acknowledged before ``last`` began. A
commit that was refused counts as one of unknown outcome.

Traps:

* A coordinator that was deposed and does not know it answers fetches from its memory, in Apache Kafka too. So a client
  begins a ``committed`` operation before it joins the group (JoinGroup), and fetches when it has its assignment
  (SyncGroup), from the same coordinator. That one has committed a record of the group since the operation began, so it
  was no deposed one, and knows what was acknowledged before.
* Offsets of a group without members expire, and those of a deleted topic go with it. Then a fetch returns none.
* An unclean leader election of the topic of groups may lose commits.

Commits are judged for a run as a whole: they are few, and belong to groups and not to the partition's log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.tables.settings import Settings

GROUPS: Final = "__consumer_offsets-0"
NO_OFFSET: Final = -1
_MOST: Final = 10
_OK: Final = 0
_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class CommitFindings:
    """What was found of commits: how many were ``acknowledged`` and how many offsets were ``fetched``; how many fetches
    lack a commit (``lost``, with ``examples``), and how many may (``unknown``, and ``why``)."""

    acknowledged: int = 0
    fetched: int = 0
    lost: int = 0
    examples: tuple[dict[str, Any], ...] = ()
    unknown: int = 0
    why: str = ""


@dataclass(slots=True)
class _Key:
    """The commits and fetches of one group's offset in one partition: rows of invocation and completion, offsets."""

    began: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    is_fetch: list[bool] = field(default_factory=list)
    acknowledged: list[bool] = field(default_factory=list)


class Commits:
    """Takes in commits and fetches of offsets as they end; then :meth:`findings`.

    It keeps a few numbers for each offset that was committed or fetched.
    """

    def __init__(self) -> None:
        self.operations = 0
        self._keys: Final[dict[str, _Key]] = {}

    def add(
        self,
        items: pa.StructArray,
        is_fetch: Bools,
        outcome: npt.NDArray[np.int8],
        began: Ints,
        ended: Ints,
        time: Ints,
    ) -> None:
        """Take in micro-operations: of each its operation's outcome, the rows of its invocation and of its end, and the
        time of the latter."""
        columns = (items.field("key").to_pylist(), items.field("offset").to_pylist(), is_fetch.tolist())
        rows = (outcome.tolist(), began.tolist(), ended.tolist(), time.tolist())
        for key, offset, fetches, result, begins, ends, at in zip(*columns, *rows, strict=True):
            self.operations += 1
            if fetches and result != _OK:
                continue
            one = self._keys.setdefault(key, _Key())
            one.began.append(begins)
            one.ended.append(ends)
            one.time.append(at)
            one.offset.append(NO_OFFSET if offset is None else offset)
            one.is_fetch.append(fetches)
            one.acknowledged.append(not fetches and result == _OK)

    def findings(self, settings: Settings) -> CommitFindings:
        acknowledged = sum(sum(one.acknowledged) for one in self._keys.values())
        fetched = sum(sum(one.is_fetch) for one in self._keys.values())
        lost: list[tuple[int, dict[str, Any]]] = []
        count, unknown, whys = 0, 0, dict[str, None]()
        for key, one in self._keys.items():
            for row, example, silent, why in _of_key(key, one, settings):
                if why:
                    unknown += 1
                    whys[why] = None
                elif not silent:
                    count += 1
                    lost.append((row, example))
                    if len(lost) > 2 * _MOST:
                        lost = sorted(lost, key=lambda found: found[0])[:_MOST]
        examples = [example for _, example in sorted(lost, key=lambda found: found[0])[:_MOST]]
        return CommitFindings(acknowledged, fetched, count, tuple(examples), unknown, "; ".join(whys))


def _of_key(key: str, one: _Key, settings: Settings) -> Iterator[tuple[int, dict[str, Any], bool, str]]:
    """Yield for each fetch that lacks a commit: its row, an example, whether it is excused, and why this is unknown."""
    began, ended, offset = (np.array(column, np.int64) for column in (one.began, one.ended, one.offset))
    is_fetch, acknowledged = np.array(one.is_fetch, np.bool_), np.array(one.acknowledged, np.bool_)
    order = np.flatnonzero(acknowledged)
    order = order[np.argsort(ended[order], kind="stable")]
    if not len(order):
        return
    latest = np.maximum.accumulate(began[order])
    for fetch in np.flatnonzero(is_fetch).tolist():
        before = int(np.searchsorted(ended[order], began[fetch], "left"))
        if not before:
            continue
        threshold = int(latest[before - 1])
        allowed = ~is_fetch & (began < ended[fetch]) & (~acknowledged | (ended > threshold))
        if (offset[allowed] == offset[fetch]).any():
            continue
        last = int(order[before - 1 - int(np.argmax(began[order[:before]][::-1] == threshold))])
        since = one.time[fetch] - max(one.time[at] for at in order[:before].tolist())
        silent, why = _excuse(key, int(offset[fetch]), since, settings)
        group, _, partition = key.rpartition("/")
        found = "none" if offset[fetch] == NO_OFFSET else str(offset[fetch])
        yield (
            int(ended[fetch]),
            {
                "partition": partition,
                "group": group,
                "committed": int(offset[last]),
                "fetched": None if offset[fetch] == NO_OFFSET else int(offset[fetch]),
                "rows": [{"table": "operations", "index": int(row)} for row in sorted({ended[last], ended[fetch]})],
                "story": (
                    f"Group {group} committed offset {offset[last]} of {partition} (row {ended[last]}), and a fetch of"
                    f" its offsets that began later (row {ended[fetch]}) returned {found}, which is no later commit."
                ),
            },
            silent,
            why,
        )


def _excuse(key: str, offset: int, since_ns: int, settings: Settings) -> tuple[bool, str]:
    """Whether a commit may be gone, and why that is not known. ``since_ns``: from the last commit to the fetch."""
    partition = key.rpartition("/")[2]
    unclean = settings.elects_uncleanly(GROUPS)
    if unclean is not False:
        return unclean is True, "" if unclean else "it is not known whether leaders are elected uncleanly"
    if offset != NO_OFFSET:
        return False, ""
    deleted = settings.deletes_topic(partition)
    if deleted is not False:
        return deleted is True, "" if deleted else "it is not known whether the topic was deleted"
    retention = settings.commit_retention_ms
    if retention is None:
        return False, "it is not known how long the offsets of a group are kept"
    return since_ns >= retention * _MS, ""
