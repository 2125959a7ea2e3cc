"""producer-id-reused: records of two clients are in a partition's logs under one producer id and epoch (KIP-98).

Example: every broker hands out producer ids from the same block. Producers 0 and 1 ask different brokers, and both get
id 1000. A leader takes the first batch of producer 1 for a retry of that of producer 0: it acknowledges it, and does
not write it. So brokers get blocks of their own from the controller (KIP-730; before that from ZooKeeper), and an id is
never handed out twice in the life of a cluster.

The trap: a client may have several ids, one after the other, and several epochs of one id. That is no finding. Nor is a
record of a client whose sends the history does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.checks.columns import (
    NOTHING,
    codes,
    dumped_records,
    finding,
    ints,
    listing,
    rows_of,
)
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.partitions.small_partitions import Partitions, latest, ranked, repeated
from highwater_pipeline.tables.settings import INTERNAL_TOPICS
from highwater_pipeline.verdict import Example, Finding

_SHOWN: Final = 4


def producer_id_reused(unit: PartitionTables) -> Finding:
    """Counts pairs of producer id and epoch that records of several clients have."""
    if unit.partition.rpartition("-")[0] in INTERNAL_TOPICS or not unit.replica_log.num_rows:
        return NOTHING
    value, client, names = _clients(unit)
    owners: dict[tuple[int, int], dict[int, list[int]]] = {}
    for _, part in unit.replica_log.by_range("offset"):
        records = dumped_records(part)
        producer, epoch, row = (ints(records, name) for name in ("producer_id", "producer_epoch", "row"))
        owner = _owner(
            ints(records, "value"), records.is_known("value") & (producer >= 0) & (epoch >= 0), value, client
        )
        order, fresh = ranked(producer, epoch, owner)
        for at in order[fresh & (owner[order] >= 0)].tolist():
            of_id = owners.setdefault((int(producer[at]), int(epoch[at])), {})
            of_id.setdefault(int(owner[at]), []).append(int(row[at]))
    shared = sorted(key for key, of_id in owners.items() if len(of_id) > 1)

    def examples() -> Iterator[Example]:
        for producer_id, producer_epoch in shared:
            of_id = owners[producer_id, producer_epoch]
            clients = sorted(names[number] for number in of_id)
            yield {
                "partition": unit.partition,
                "producer_id": producer_id,
                "producer_epoch": producer_epoch,
                "clients": clients,
                "rows": rows_of("replica_log", [rows[0] for rows in of_id.values()][:_SHOWN]),
                "story": (
                    f"Logs of {unit.partition} have records of {listing(clients)} under producer id {producer_id},"
                    f" epoch {producer_epoch}: a leader takes the batches of one for retries of the other's."
                ),
            }

    return finding(len(shared), examples())


def _clients(unit: PartitionTables) -> tuple[Ints, Ints, list[str]]:
    """The values that were sent, ascending, and the number of the client that sent each; the clients' names."""
    values, clients = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    numbers: dict[str, int] = {}
    for _, part in unit.history.by_range("value"):
        sends = part.where(part.bools("is_send") & part.is_known("client"))
        code, found = codes(sends, "client")
        of_code = np.array([*(numbers.setdefault(name, len(numbers)) for name in found), -1], np.int64)
        values.append(ints(sends, "value"))
        clients.append(of_code[code])
    value, client = np.concatenate(values), np.concatenate(clients)
    order = np.argsort(value, kind="stable")
    return value[order], client[order], list(numbers)


def _owner(value: Ints, counts: Bools, sent: Ints, client: Ints) -> Ints:
    """The client that sent each of some values; −1: not known, or the record does not count."""
    if not len(sent):
        return np.full(len(value), -1, np.int64)
    at = np.minimum(np.searchsorted(sent, value), len(sent) - 1)
    owner: Ints = np.where(counts & (sent[at] == value), client[at], -1)
    return owner


def producer_id_reused_prefilter(partitions: Partitions) -> Bools:
    """Records of several clients have one producer id and epoch. Every topic counts."""
    sends = partitions.history.where(partitions.history.view.bools("is_send"))
    words = {name: number for number, name in enumerate(sends.view.words("client"))}
    sender = sends.view.numbers("client", words)
    dump = partitions.replica_log.where(partitions.replica_log.view.is_known("value"))
    producer, epoch, value = dump.ints("producer_id", "producer_epoch", "value")
    number = np.concatenate([sends.number, dump.number])
    values = np.concatenate([*sends.ints("value"), value])
    is_record = np.repeat([False, True], [len(sends.number), len(dump.number)])
    order, _ = ranked(number, values, is_record)
    at = latest(number[order], ~is_record[order])
    send = np.empty(len(order), np.int64)
    send[order] = np.where(at >= 0, order[at], -1)
    mine = send[len(sends.number) :]
    counts = (mine >= 0) & (producer >= 0) & (epoch >= 0)
    counts[counts] = values[mine[counts]] == value[counts]
    keys = [one[counts] for one in (dump.number, producer, epoch)]
    owner = sender[mine[counts]]
    order, fresh = ranked(*keys, owner)
    once = order[fresh & (owner[order] >= 0)]
    return partitions.those(keys[0][once][repeated(*(key[once] for key in keys))])
