"""Where the replicas of new partitions go: striped over the brokers, rack-unaware, the same for the same image.

Leaders go round the active brokers in order of id; the followers of a partition are the next ones in the ring, shifted
by one more with each round, so that a broker's partitions are followed by different others. Brokers that are fenced
or shutting down are used only where the active ones are too few, and never first.
"""

from __future__ import annotations

from dataclasses import dataclass

from highwater_runtime.controller.decision import RefusedError
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class PlacedPartition:
    """Replicas in assignment order, and those of them that are fit for the ISR now."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]


def is_active(image: MetadataImage, broker_id: int) -> bool:
    """Whether the broker is registered, unfenced and not shutting down: what leading and joining an ISR takes."""
    broker = image.brokers.get(broker_id)
    return broker is not None and broker.active


def place(image: MetadataImage, partitions: int, replication_factor: int, *, first: int) -> list[PlacedPartition]:
    """Place ``partitions`` new partitions; ``first`` (any number ≥ 0) says where in the ring to begin.

    Raises:
        RefusedError: INVALID_REPLICATION_FACTOR where there are too few brokers, or none is active.
    """
    active = [broker_id for broker_id in sorted(image.brokers) if image.brokers[broker_id].active]
    inactive = [broker_id for broker_id in sorted(image.brokers) if not image.brokers[broker_id].active]
    if not active:
        raise RefusedError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"unable to replicate the partition {replication_factor} time(s): "
            "all brokers are fenced or in controlled shutdown",
        )
    if replication_factor > len(image.brokers):
        raise RefusedError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"unable to replicate the partition {replication_factor} time(s): "
            f"only {len(image.brokers)} broker(s) are registered",
        )
    placed = []
    for number in range(first, first + partitions):
        round_, start = divmod(number, len(active))
        leader = active[start]
        others = active[start + 1 :] + active[:start]
        if others:
            shift = round_ % len(others)
            others = others[shift:] + others[:shift]
        replicas = tuple([leader, *others, *inactive][:replication_factor])
        placed.append(PlacedPartition(replicas, tuple(r for r in replicas if image.brokers[r].active)))
    return placed


def check_assignment(image: MetadataImage, replicas: list[int], replication_factor: int | None) -> PlacedPartition:
    """A partition's replicas as someone assigned them by hand.

    Raises:
        RefusedError: INVALID_REPLICA_ASSIGNMENT where it is empty, has duplicates or unregistered brokers, no broker
            that may lead, or not ``replication_factor`` replicas.
    """
    check_replicas(image, replicas, replication_factor)
    isr = tuple(replica for replica in replicas if image.brokers[replica].active)
    if not isr:
        raise _bad_assignment(f"all brokers of {replicas} are fenced or in controlled shutdown")
    return PlacedPartition(tuple(replicas), isr)


def check_replicas(image: MetadataImage, replicas: list[int], replication_factor: int | None) -> None:
    """As :func:`check_assignment`, but brokers that may not lead are fine."""
    if not replicas:
        raise _bad_assignment("the manual partition assignment includes an empty replica list")
    if len(set(replicas)) != len(replicas):
        raise _bad_assignment(f"the manual partition assignment {replicas} names a broker more than once")
    for replica in replicas:
        if replica not in image.brokers:
            raise _bad_assignment(f"the manual partition assignment includes broker {replica}, which is not registered")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _bad_assignment(
            f"the manual partition assignment has {len(replicas)} replica(s) where {replication_factor} are expected"
        )


def _bad_assignment(message: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
