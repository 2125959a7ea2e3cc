"""What a schedule waits for, as predicates over the view of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from highwater_chaos.backends.protocol import Backend, NodeState
from highwater_chaos.backends.view import ClusterView, controller_index
from highwater_chaos.experiment.conditions import (
    AckedCondition,
    ActiveControllerCondition,
    BrokerCondition,
    CaughtCondition,
    ClusterCondition,
    HighWatermarkCondition,
    IsrCondition,
    LeaderCondition,
)
from highwater_chaos.experiment.nodes import broker_name


@dataclass(frozen=True, slots=True)
class World:
    """What conditions look at. ``acknowledged``: records so far; ``caught``: messages that the named fault has caught
    so far."""

    backend: Backend
    view: ClusterView
    acknowledged: Callable[[], int]
    caught: Callable[[str], int]


def is_met(condition: ClusterCondition, world: World) -> bool:
    """Whether the condition holds now."""
    match condition.chosen:
        case IsrCondition() as isr:
            return _isr(isr, world.view)
        case LeaderCondition() as leader:
            return _leader(leader, world.view)
        case BrokerCondition() as broker:
            return _broker(broker, world)
        case ActiveControllerCondition() as controller:
            return _active_controller(controller, world.view)
        case HighWatermarkCondition(partition=name, at_least=offset):
            partition = world.view.partitions.get(name)
            return partition is not None and partition.high_watermark >= offset
        case AckedCondition(at_least=count):
            return world.acknowledged() >= count
        case CaughtCondition(name=name, at_least=count):
            return world.caught(name) >= count
        case int(count):
            return len(world.view.under_replicated()) == count
        case other:
            raise AssertionError(f"no condition for {other!r}")


def is_or_was_met(condition: ClusterCondition, world: World) -> Callable[[], bool]:
    """Return whether the condition holds now, or held between two looks since this call, as far as events show it.

    There may be no active controller for a few milliseconds only.
    """
    vacancies = world.view.controller_vacancies
    about = condition.active_controller
    waits_for_none = about is not None and about.exists is False

    def met() -> bool:
        return is_met(condition, world) or (waits_for_none and world.view.controller_vacancies > vacancies)

    return met


def broken(condition: ClusterCondition, world: World) -> Callable[[], bool]:
    """Return whether the condition does not hold, or did not between two looks since this call, as far as events show
    it: a broker was fenced, or there was no active controller, for a moment."""
    view, broker = world.view, condition.broker

    def moments() -> tuple[int, int]:
        about, fenced = condition.active_controller, 0
        if broker is not None and broker.state == "unfenced":
            fenced = view.fenced_count.get(broker.id, 0) + view.unregistered_count.get(broker.id, 0)
        return fenced, view.controller_vacancies if about is not None and about.exists else 0

    before = moments()
    return lambda: not is_met(condition, world) or moments() != before


def found(condition: ClusterCondition, world: World) -> str:
    """What there is instead, for the message of a condition that was not met."""
    view = world.view
    match condition.chosen:
        case IsrCondition(partition=name) | LeaderCondition(partition=name) | HighWatermarkCondition(partition=name):
            partition = view.partitions.get(name)
            if partition is None:
                return f"the controllers have not said anything about {name}"
            return (
                f"{name} has ISR {partition.isr}, leader {partition.leader} in epoch {partition.leader_epoch},"
                f" HW {partition.high_watermark}"
            )
        case BrokerCondition(id=broker):
            registration = view.brokers.get(broker)
            state = world.backend.state(broker_name(broker)).value
            if registration is None or not view.is_registered(broker):
                return f"broker {broker} is {state} and not registered in this incarnation"
            return f"broker {broker} is {state} and {'fenced' if registration.fenced else 'unfenced'}"
        case ActiveControllerCondition():
            return f"the active controller is {view.active_controller() or 'none'}"
        case AckedCondition():
            return f"{world.acknowledged()} records were acknowledged"
        case CaughtCondition(name=name):
            return f"{name} has caught {world.caught(name)} messages"
        case _:
            return f"under-replicated are {', '.join(view.under_replicated()) or 'none'}"


def _isr(condition: IsrCondition, view: ClusterView) -> bool:
    partition = view.partitions.get(condition.partition)
    if partition is None:
        return False
    isr = partition.isr
    if condition.equals is not None:
        return sorted(isr) == sorted(condition.equals)
    if condition.includes is not None:
        return all(broker in isr for broker in condition.includes)
    if condition.excludes is not None:
        return all(broker not in isr for broker in condition.excludes)
    return len(isr) == condition.size


def _leader(condition: LeaderCondition, view: ClusterView) -> bool:
    if condition.partition not in view.partitions:
        return False
    leader = view.leader(condition.partition)
    if condition.is_ is not None:
        return leader == condition.is_
    if condition.is_not is not None:
        return leader is not None and leader != condition.is_not
    return leader is None


def _broker(condition: BrokerCondition, world: World) -> bool:
    view, broker = world.view, condition.id
    match condition.state:
        case "down":
            return world.backend.state(broker_name(broker)) is NodeState.DOWN
        case "registered":
            return view.is_registered(broker)
        case "fenced":
            return broker in view.brokers and view.brokers[broker].fenced
        case "unfenced":
            return view.is_unfenced(broker)


def _active_controller(condition: ActiveControllerCondition, view: ClusterView) -> bool:
    active = view.active_controller()
    if condition.exists is not None:
        return (active is not None) == condition.exists
    if active is None:
        return False
    if condition.is_ is not None:
        return controller_index(active) == condition.is_
    return controller_index(active) != condition.is_not
