"""Mutants of ZooKeeper mode: commands, conditional writes, sessions, failover."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

_ACTIVE: Final = "controller.zk.active:ActiveController"
_WRITES: Final = "controller.zk.writes"
_COMMANDS: Final = "broker.zk.commands:Commands"
_ISR: Final = "broker.zk.isr_writer:IsrWrites.propose"
_SENDER: Final = "controller.zk.sender"
_ELECTION: Final = "controller.zk.election:ControllerElection"

ZOOKEEPER: Final = (
    Mutant(
        "zk-writes-unguarded",
        "controller.zk.election:Elected.guard",
        "return Check(CONTROLLER_EPOCH, self.version)",
        "return Check(CONTROLLER_EPOCH, -1)",
        "a deposed controller's writes fail (KAFKA-6082)",
        mode="zookeeper",
        harmless="a controller stops when its session ends, and then its writes fail; no fault deposes it otherwise",
    ),
    Mutant(
        "zk-isr-written-unconditionally",
        _ISR,
        "Set(path, data, proposal.partition_epoch),",
        "Set(path, data, -1),",
        "a leader's ISR write is conditional on the version that it knows",
        mode="zookeeper",
    ),
    Mutant(
        "zk-controller-writes-unconditionally",
        f"{_WRITES}:_steps",
        "steps.append(Set(path, data, change.before.partition_epoch))",
        "steps.append(Set(path, data, -1))",
        "a controller's write is conditional on the version that it knows",
        mode="zookeeper",
    ),
    Mutant(
        "zk-refused-isr-write-believed",
        _ISR,
        "case Data(data=found, stat=stat) if _is(path, found, node):",
        "case Data(data=found, stat=stat):",
        "a leader whose ISR write was refused checks whether its own earlier write had succeeded",
        mode="zookeeper",
    ),
    Mutant(
        "zk-refused-write-not-repeated",
        f"{_WRITES}:write",
        "again += [change.key for change in changes]",
        "pass",
        "a controller whose write was refused reads and decides again",
        mode="zookeeper",
    ),
    Mutant(
        "zk-aborted-write-believed",
        f"{_WRITES}:write",
        "if isinstance(outcome, tuple):",
        "if isinstance(outcome, tuple) or outcome.index > 0:",
        "a controller relies on a write only after it has been confirmed",
        mode="zookeeper",
    ),
    Mutant(
        "zk-deposed-by-write-unnoticed",
        f"{_WRITES}:write",
        "raise DeposedError",
        "pass",
        "a controller whose guard fails stops",
        mode="zookeeper",
        harmless="a controller has already stopped when its session ended, so it never learns this from the guard",
    ),
    Mutant(
        "zk-expired-controller-goes-on",
        f"{_ELECTION}.on_session_event",
        "self._depose()",
        "pass",
        "a controller whose session has expired stops",
        mode="zookeeper",
        harmless="its writes fail by the guard, and its commands have an old epoch",
    ),
    Mutant(
        "zk-controller-epoch-not-raised",
        f"{_ELECTION}._claim",
        'b"%d" % (last + 1)',
        'b"%d" % last',
        "each controller has an epoch of its own",
        mode="zookeeper",
    ),
    Mutant(
        "zk-command-for-former-incarnation",
        f"{_COMMANDS}._refusal",
        "if body.broker_epoch != _ANY_BROKER_EPOCH and body.broker_epoch < self._broker_epoch():",
        "if False:",
        "a broker refuses commands for its previous incarnation (KIP-380)",
        mode="zookeeper",
    ),
    Mutant(
        "zk-command-of-former-leader-epoch",
        f"{_COMMANDS}._check",
        "if (state.leader_epoch, state.partition_epoch) < (known.state.leader_epoch, known.state.partition_epoch):",
        "if False:",
        "a broker ignores a LeaderAndIsr of a former leader epoch",
        mode="zookeeper",
        harmless="a partition ignores a state with an older partition epoch by itself",
    ),
    Mutant(
        "zk-stop-of-former-leader-epoch",
        f"{_COMMANDS}._check_stop",
        "is_stale = state.leader_epoch < known.state.leader_epoch",
        "is_stale = False",
        "a broker ignores a StopReplica of a former leader epoch (KAFKA-9539)",
        mode="zookeeper",
    ),
    Mutant(
        "zk-every-list-is-full",
        f"{_COMMANDS}._lead_and_follow",
        "if is_full:",
        "if True:",
        "strays are judged by full lists only (KAFKA-7362)",
        mode="zookeeper",
    ),
    Mutant(
        "zk-failover-without-full-lists",
        f"{_ACTIVE}._fail_over",
        "everything.full(broker_id)",
        "pass",
        "a new controller sends each broker the full list of its replicas (Design V3, D 4)",
        mode="zookeeper",
    ),
    Mutant(
        "zk-start-without-full-list",
        f"{_ACTIVE}._brokers_started",
        "commands.full(broker_id)",
        "pass",
        "a broker that starts gets the full list of its replicas",
        mode="zookeeper",
    ),
    Mutant(
        "zk-restart-unnoticed",
        f"{_ACTIVE}.brokers_changed",
        "if _epoch(found, broker_id) != known[broker_id].epoch",
        "if _epoch(found, broker_id) is None",
        "the controller notices by the epoch that a broker has restarted",
        mode="zookeeper",
    ),
    Mutant(
        "zk-dead-members-stay-in-isr",
        "controller.zk.decisions:next_state",
        "isr = tuple(member for member in target.isr if context.may_lead(member, key))",
        "isr = target.isr",
        "the controller removes dead brokers from the ISR",
        mode="zookeeper",
    ),
    Mutant(
        "zk-stopping-broker-may-lead",
        "controller.zk.context:ControllerContext.may_lead",
        "return self.is_online(broker_id, key) and self.image.brokers[broker_id].active",
        "return self.is_online(broker_id, key)",
        "a broker that is shutting down gets no leadership",
        mode="zookeeper",
        harmless="leadership moves once more when it has stopped; nothing is lost by that",
    ),
    Mutant(
        "zk-lost-command-not-repeated",
        f"{_SENDER}:BrokerSender._responded",
        "self._ports.clock.call_later(RETRY_NS, self._attempt)",
        "self._in_flight = False; self._due.popleft(); self._next()",
        "a command without a response is sent again",
        mode="zookeeper",
    ),
    Mutant(
        "zk-commands-out-of-order",
        f"{_SENDER}:Round.takes",
        "return not (self.stop and other.leader_and_isr and any(key in self.stop for key in other.leader_and_isr))",
        "return True",
        "a replica is stopped before it is created again",
        mode="zookeeper",
    ),
    Mutant(
        "zk-full-list-becomes-partial",
        f"{_SENDER}:Round.merge",
        "if other.full or self.leader_and_isr is None:",
        "if self.leader_and_isr is None:",
        "a full list that is merged into a waiting round stays one",
        mode="zookeeper",
        harmless="the full list is the first LeaderAndIsr of each sender; a later one goes to a broker that has refused"
        " this broker epoch and does so again",
    ),
    Mutant(
        "zk-foreign-registration-taken",
        "broker.zk.membership:Membership._register",
        "if isinstance(result, Data) and key is not None and result.stat.ephemeral_owner == key.id:",
        "if isinstance(result, Data) and key is not None:",
        "a broker waits until the ephemeral node of its former session has been deleted",
        mode="zookeeper",
    ),
    Mutant(
        "zk-topic-gone-before-its-replicas",
        f"{_ACTIVE}._topic_deleted",
        "if self.context.deleting.get(topic, True):",
        "if False:",
        "a topic's node is deleted when all replicas have been deleted",
        mode="zookeeper",
        harmless="this step is queued only when all replicas have been deleted",
    ),
)
