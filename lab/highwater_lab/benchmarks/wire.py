"""What the codec costs: CPU microseconds for each message, and for the start of a process.

    python -m highwater_lab.benchmarks.wire                         this checkout against itself: shows the noise
    python -m highwater_lab.benchmarks.wire --against DIR/runtime   another checkout (`git worktree add DIR main`)

Two processes, one for each checkout, take turns at every figure, so that a busy machine is equally busy for both. A
figure is the least of all rounds; a ratio is the median of the rounds' ratios, this checkout over the other: below 1 is
faster here. The last lines are of fresh processes, which also take turns: importing the registry with every request and
response, and then sending each of the messages above once in both directions.
"""

# What is measured is imported late: by two processes, each from its own checkout.
# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

HERE = Path(__file__).resolve().parents[3] / "runtime"
TOPIC = UUID(int=0x1234567890ABCDEF)
_SECONDS_OF_A_ROUND = 0.02


def samples() -> dict[str, tuple[Any, int]]:
    """Title -> a message and the version in which it travels."""
    from highwater_runtime.wire.messages import fetch_request as fq
    from highwater_runtime.wire.messages import fetch_response as fr
    from highwater_runtime.wire.messages import metadata_response as mr
    from highwater_runtime.wire.messages import produce_request as pq
    from highwater_runtime.wire.messages import produce_response as pr
    from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
    from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic

    def fetch(partitions: int) -> Any:
        asked = [
            fq.FetchPartition(partition=p, fetch_offset=1000, partition_max_bytes=1 << 20) for p in range(partitions)
        ]
        return fq.FetchRequest(
            replica_state=fq.ReplicaState(replica_id=2, replica_epoch=77),
            max_wait_ms=500,
            min_bytes=1,
            topics=[fq.FetchTopic(topic_id=TOPIC, partitions=asked)],
        )

    def fetched(partitions: int) -> Any:
        data = [fr.PartitionData(partition_index=p, high_watermark=1000, records=bytes(500)) for p in range(partitions)]
        return fr.FetchResponse(responses=[fr.FetchableTopicResponse(topic_id=TOPIC, partitions=data)])

    def produce(partitions: int) -> Any:
        data = [pq.PartitionProduceData(index=p, records=bytes(500)) for p in range(partitions)]
        return pq.ProduceRequest(
            acks=-1, timeout_ms=30000, topic_data=[pq.TopicProduceData(name="orders", partition_data=data)]
        )

    def produced(partitions: int) -> Any:
        data = [pr.PartitionProduceResponse(index=p, base_offset=1000, log_start_offset=0) for p in range(partitions)]
        return pr.ProduceResponse(responses=[pr.TopicProduceResponse(name="orders", partition_responses=data)])

    def metadata(topics: int) -> Any:
        def partition(index: int) -> Any:
            return mr.MetadataResponsePartition(
                partition_index=index, leader_id=1, leader_epoch=5, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3]
            )

        brokers = [mr.MetadataResponseBroker(node_id=n, host=f"broker-{n}", port=9092) for n in range(3)]
        listed = [
            mr.MetadataResponseTopic(name=f"topic-{t}", topic_id=TOPIC, partitions=[partition(p) for p in range(3)])
            for t in range(topics)
        ]
        return mr.MetadataResponse(brokers=brokers, cluster_id="a cluster", controller_id=1, topics=listed)

    return {
        "FetchRequest, 1 partition": (fetch(1), 17),
        "FetchRequest, 10 partitions": (fetch(10), 17),
        "FetchResponse, 1 partition": (fetched(1), 17),
        "FetchResponse, 10 partitions": (fetched(10), 17),
        "ProduceRequest, 1 partition": (produce(1), 9),
        "ProduceRequest, 10 partitions": (produce(10), 9),
        "ProduceResponse, 1 partition": (produced(1), 9),
        "ProduceResponse, 10 partitions": (produced(10), 9),
        "MetadataRequest, 1 topic": (MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 12),
        "MetadataResponse, 1 topic": (metadata(1), 12),
        "MetadataResponse, 10 topics": (metadata(10), 12),
        "BrokerHeartbeatRequest": (BrokerHeartbeatRequest(broker_id=1, broker_epoch=7, current_metadata_offset=9), 1),
    }


def works() -> dict[str, Callable[[], object]]:
    """Title -> something to do many times."""
    from highwater_runtime.wire.messages.fetch_request import FetchPartition

    found: dict[str, Callable[[], object]] = {}
    for title, (message, version) in samples().items():
        found[f"encode {title}"] = partial(message.encode_parts, version)
        found[f"decode {title}"] = partial(type(message).decode, message.encode(version), version)
    found["construct FetchPartition"] = lambda: FetchPartition(partition=1, fetch_offset=5, partition_max_bytes=9)
    return found


def measure(work: Callable[[], object]) -> float:
    """CPU microseconds of one call."""
    count = 16
    while True:
        begin = time.process_time()
        for _ in range(count):
            work()
        passed = time.process_time() - begin
        if passed >= _SECONDS_OF_A_ROUND:
            return passed / count * 1e6
        count *= 2


def answer() -> None:
    """Measure what is named on each line of standard input."""
    gc.disable()
    known = works()
    print(*known, sep="\t", flush=True)
    for line in sys.stdin:
        print(measure(known[line.rstrip("\n")]), flush=True)


def start() -> None:
    """Start: print milliseconds to import, and to send every sample both ways besides; then KiB after each."""

    def memory() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    import highwater_runtime.wire.api_keys
    import highwater_runtime.wire.codec

    begin, before = time.process_time(), memory()
    import highwater_runtime.wire.registry  # noqa: F401

    imported, after_import = time.process_time(), memory()
    for message, version in samples().values():
        type(message).decode(message.encode(version), version)
    used = time.process_time()
    print((imported - begin) * 1e3, (used - begin) * 1e3, after_import - before, memory() - before)


def _process(runtime: Path, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, mode],
        env={**os.environ, "PYTHONPATH": str(runtime)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ask(process: subprocess.Popen[str], title: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{title}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(other: Path, rounds: int) -> None:
    """Print one line for each figure."""

    def show(title: str, pairs: list[tuple[float, float]]) -> None:
        least = [min(column) for column in zip(*pairs, strict=True)]
        ratio = median(mine / theirs for theirs, mine in pairs)
        print(f"{title:42} {least[0]:10.2f} {least[1]:10.2f} {ratio:8.3f}", flush=True)
        ratios.append(ratio)

    ratios: list[float] = []
    both = [_process(runtime, "answer") for runtime in (other, HERE)]
    titles = [process.stdout.readline().rstrip("\n").split("\t") for process in both if process.stdout is not None]
    assert titles[0] == titles[1]
    print(f"{'CPU microseconds':42} {'other':>10} {'here':>10} {'ratio':>8}")
    for title in titles[0]:
        show(title, [(_ask(both[0], title), _ask(both[1], title)) for _ in range(rounds)])
    print(f"{'all of these: median ratio':42} {'':10} {'':10} {median(ratios):8.3f}")
    for process in both:
        process.communicate()
    starts = []
    for _ in range(rounds):
        pair = [_process(runtime, "start").communicate()[0].split() for runtime in (other, HERE)]
        starts.append([(float(theirs), float(mine)) for theirs, mine in zip(*pair, strict=True)])
    for index, title in enumerate(("import: ms", "and first use: ms", "import: KiB", "and first use: KiB")):
        show(title, [figures[index] for figures in starts])


def main() -> None:
    """Compare, or be one of the processes that are compared."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "mode", nargs="?", choices=["compare", "answer", "start"], default="compare", help=argparse.SUPPRESS
    )
    parser.add_argument("--against", type=Path, default=HERE, help="the folder `runtime` of another checkout")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    match options.mode:
        case "answer":
            answer()
        case "start":
            start()
        case _:
            compare(options.against.resolve(), options.rounds)


if __name__ == "__main__":
    main()
