"""What a partition is to become, for any context."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from highwater_runtime.controller.partition_change import Election
from highwater_runtime.controller.zk.context import NO_NODE, ControllerContext, PartitionKey, Target
from highwater_runtime.controller.zk.decisions import Rules, next_state
from highwater_runtime.metadata import NO_LEADER, PartitionRegistration
from highwater_runtime.metadata.znodes import BrokerNode, TopicNode

CLOSED = Rules()
KEY = PartitionKey("orders", 0)


@dataclass(frozen=True)
class Case:
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    live: frozenset[int]
    leaving: frozenset[int]
    order: tuple[int, ...] | None

    def context(self) -> ControllerContext:
        context = ControllerContext(topic_ids=True)
        for broker_id in sorted(self.live):
            context.register(broker_id, BrokerNode(endpoints={"PLAINTEXT": f"b{broker_id}:9092"}), 10 + broker_id)
        for broker_id in sorted(self.leaving & self.live):
            context.begin_shutdown(broker_id)
        context.add_topic("orders", TopicNode(partitions={0: self.replicas}), 0, 1)
        context.put(
            KEY,
            PartitionRegistration(
                replicas=self.replicas, isr=self.isr, leader=self.leader, leader_epoch=5, partition_epoch=7
            ),
        )
        if self.order is not None:
            context.reassigned[KEY] = Target(self.order, 0)
        return context


@st.composite
def cases(draw: st.DrawFn, orders: bool = False) -> Case:
    brokers = range(5)
    replicas = tuple(draw(st.lists(st.sampled_from(brokers), min_size=1, max_size=4, unique=True)))
    isr = tuple(draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True)))
    some = st.frozensets(st.sampled_from(brokers))
    order = tuple(draw(st.lists(st.sampled_from(brokers), min_size=1, max_size=4, unique=True))) if orders else None
    return Case(replicas, isr, draw(st.sampled_from((*isr, NO_LEADER))), draw(some), draw(some), order)


def settle(context: ControllerContext, rules: Rules = CLOSED) -> PartitionRegistration:
    """Take steps until there is none."""
    for _ in range(4):
        change = next_state(context, KEY, rules)
        if change is None:
            state = context.partition(KEY)
            assert state is not None
            return state
        context.put(KEY, change.after)
        if change.done is not None:
            del context.reassigned[KEY]
    raise AssertionError("the partition never comes to rest")


@given(cases())
def test_who_shuts_down_stays_in_an_isr_that_a_leader_has_written(case: Case) -> None:
    taken_out, kept = settle(case.context()), settle(case.context(), Rules(leaving_stay=True))
    assert kept.leader == taken_out.leader
    live = [member for member in case.isr if member in case.live]
    assert sorted(kept.isr) == sorted(live or case.isr)


@given(cases())
def test_a_leader_comes_from_the_live_isr_in_order_of_assignment(case: Case) -> None:
    state = settle(case.context())
    fit = [replica for replica in case.replicas if replica in case.isr and replica in case.live - case.leaving]
    if case.leader in fit:
        assert state.leader == case.leader
    elif fit:
        assert state.leader == fit[0]
    elif case.leader in case.live:
        assert state.leader == case.leader, "it shuts down, and nobody can take over"
    else:
        assert state.leader == NO_LEADER
    last = [case.leader] if case.leader in case.live else case.isr
    assert sorted(state.isr) == sorted(fit or last), "who is not fit leaves, but never all"
    assert state.replicas == case.replicas


@given(cases(orders=True))
def test_every_write_bumps_both_epochs(case: Case) -> None:
    context = case.context()
    change = next_state(context, KEY)
    if change is not None and change.after != change.before:
        assert change.leads
        assert change.after.leader_epoch == change.before.leader_epoch + 1
        assert change.after.partition_epoch == change.before.partition_epoch + 1


@given(cases(orders=True))
def test_a_move_keeps_the_committed_and_ends(case: Case) -> None:
    context = case.context()
    state = settle(context)
    assert set(state.isr) <= set(case.isr), "nobody joins the ISR by a decision of the controller"
    assert state.isr
    assert state.leader == NO_LEADER or state.leader in state.isr
    assert case.order is not None
    if KEY not in context.reassigned:
        assert state.replicas == case.order
        return
    assert state.replicas[: len(case.order)] == case.order
    for broker_id in case.order:
        if broker_id not in case.live:
            context.register(broker_id, BrokerNode(endpoints={"PLAINTEXT": "b:1"}), 99)
    context.put(KEY, structs.replace(state, isr=tuple(dict.fromkeys((*state.isr, *case.order))), leader=case.order[0]))
    for broker_id in case.order:
        context.register(broker_id, BrokerNode(endpoints={"PLAINTEXT": "b:1"}), 100)
    state = settle(context)
    assert state.replicas == case.order
    assert set(state.isr) <= set(case.order)
    assert not context.reassigned


@given(cases())
def test_a_move_that_is_taken_back_leaves_nothing(case: Case) -> None:
    wanted = tuple(broker_id for broker_id in range(5) if broker_id not in case.replicas)
    if not wanted:
        return
    context = replace(case, order=wanted).context()
    settle(context)
    context.reassigned.clear()
    state = settle(context)
    assert (sorted(state.replicas), state.reassigning) == (sorted(case.replicas), False)


@given(cases())
def test_the_holes_of_the_document(case: Case) -> None:
    fit = [replica for replica in case.replicas if replica in case.live - case.leaving]
    lost = not set(case.isr) & set(fit) and case.leader not in case.live and fit
    unclean = settle(case.context(), Rules(unclean=True))
    literal = settle(case.context(), Rules(init_leaderless=True))
    if lost:
        assert (unclean.leader, unclean.isr, int(unclean.leader_recovery_state)) == (fit[0], (fit[0],), 1)
        assert (literal.leader, literal.isr) == (fit[0], tuple(fit))
    else:
        assert unclean == literal == settle(case.context())


@given(cases())
def test_the_first_leader(case: Case) -> None:
    context = case.context()
    state = context.partition(KEY)
    assert state is not None
    context.put(KEY, structs.replace(state, isr=(), leader=NO_LEADER, leader_epoch=-1, partition_epoch=NO_NODE))
    fit = tuple(replica for replica in case.replicas if replica in case.live - case.leaving)
    change = next_state(context, KEY)
    if not fit:
        assert change is None
    else:
        assert change is not None
        after = change.after
        assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (fit[0], fit, 0, 0)


@given(cases())
def test_a_preferred_election(case: Case) -> None:
    context = case.context()
    change = next_state(context, KEY, election=Election.PREFERRED)
    state = change.after if change is not None else context.partition(KEY)
    assert state is not None
    preferred = case.replicas[0]
    if preferred in case.isr and preferred in case.live - case.leaving:
        assert state.leader == preferred
