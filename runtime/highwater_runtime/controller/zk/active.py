"""An elected controller, from its election until it is deposed: loading, watching, deciding, writing, commanding.

It reads everything with watches (Detailed Replication Design V3, D), and each watch that ends puts the event that reads
the same again. An event compares what it reads with the context, asks for the partitions concerned what they are to
become (:mod:`.decisions`), writes that (:mod:`.writes`) and then sends commands to the brokers (:mod:`.commands`). If
this controller dies between the write and the commands, its successor sends the whole state to all brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final
from uuid import UUID

from highwater_runtime.controller.partition_change import Election
from highwater_runtime.controller.zk.commands import Commands
from highwater_runtime.controller.zk.context import NO_NODE, ControllerContext, PartitionKey
from highwater_runtime.controller.zk.decisions import Change, Rules, next_state
from highwater_runtime.controller.zk.election import Elected
from highwater_runtime.controller.zk.loading import read_brokers, read_topics, read_tree
from highwater_runtime.controller.zk.options import ZkControllerOptions
from highwater_runtime.controller.zk.partitions import add_partitions, remove_partitions
from highwater_runtime.controller.zk.responses import failed_replicas, stopped_replicas
from highwater_runtime.controller.zk.sender import BrokerSender, Header
from highwater_runtime.controller.zk.topic_deletion import begin_deletions, delete_nodes
from highwater_runtime.controller.zk.work import EventQueue, Work, read
from highwater_runtime.controller.zk.writes import order_path, reread, take_up_order, write
from highwater_runtime.metadata import PartitionRegistration
from highwater_runtime.metadata.registrations import ALL_BROKERS_RESOURCE
from highwater_runtime.metadata.znodes import (
    ALL_BROKERS_CONFIG,
    BROKER_IDS,
    DELETE_TOPICS,
    ISR_CHANGES,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    PERSISTENT,
    TOPICS,
    IsrChangeNode,
    ZnodeError,
    broker_path,
    decode_config,
    decode_node,
    topic_path,
)
from highwater_runtime.ports import MS, Ports
from highwater_runtime.ports.coordination import Children, Create, Data, Delete, Exists, Get, Listing, Session, Stat
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrLiveLeader, LeaderAndIsrRequest
from highwater_runtime.wire.messages.stop_replica_request import StopReplicaRequest
from highwater_runtime.wire.messages.update_metadata_request import UpdateMetadataBroker, UpdateMetadataEndpoint

RECHECK_NS: Final = 100 * MS
"""Delay until the next look at a broker's registration, after the broker answered that it is in another incarnation."""

UNCLEAN: Final = "kafka_controller_controllerstats_uncleanleaderelections_total"


class ActiveController:
    """The controller of one epoch.

    Args:
        of_all_brokers: the configuration of all brokers, as this broker knows it from its own reading of ``/config``.
        on_deposed: it has found that it is deposed; it has stopped by then.
        after_event: runs after each event.
    """

    def __init__(
        self,
        options: ZkControllerOptions,
        elected: Elected,
        session: Session,
        ports: Ports,
        of_all_brokers: Mapping[str, str],
        on_deposed: Callable[[], None],
        after_event: Callable[[], None],
    ) -> None:
        self.options = options
        self.elected = elected
        self.context = ControllerContext(topic_ids=options.topic_ids)
        self.context.configure(ALL_BROKERS_RESOURCE, of_all_brokers)
        self._ports = ports
        self.queue = EventQueue(session, ports.clock, on_deposed, after_event)
        self._senders: dict[int, BrokerSender] = {}
        self._dropped = False
        version = options.config.leader_and_isr_version
        alive = self._live_brokers, self._live_leaders
        self._header = Header(options.node_id, elected.epoch, options.topic_ids, version, count(), *alive)

    @property
    def rules(self) -> Rules:
        """Those of every event but the first."""
        return Rules(self.options.switches.unclean_leader_election == "on", self.options.config)

    def begin(self) -> None:
        """Load everything and take over."""
        self.queue.put("failover", self._fail_over)

    def drop(self) -> None:
        """Stop at once: nothing is written or sent any more."""
        self._dropped = True
        self.queue.drop()
        for sender in self._senders.values():
            sender.close()
        self._senders.clear()

    def suspended(self) -> None:
        """The session is not connected: watches are lost."""
        self.queue.suspended()

    def connected(self) -> None:
        """The session is connected again. Each watch that was lost has put its event by now."""
        self.queue.connected()

    # --- deciding, writing, telling -------------------------------------------------------------------------------

    def decide(
        self,
        keys: Iterable[PartitionKey],
        rules: Rules | None = None,
        election: Election = Election.ONLINE,
    ) -> Work[dict[PartitionKey, PartitionRegistration]]:
        """Write the new states of these partitions; returns the old states of the changed ones. Sends no command."""
        effective = self.rules if rules is None else rules
        unclean: dict[PartitionKey, bool] = {}

        def step(key: PartitionKey) -> Change | None:
            change = next_state(self.context, key, effective, election=election)
            # A step that could not be written is decided again, by a state that was read since.
            unclean[key] = change is not None and change.is_unclean and not effective.init_leaderless
            return change

        changed = yield from write(self.context, self.elected, dict.fromkeys(keys), step)
        for key in changed:
            if unclean[key]:
                self._ports.metrics.counter(UNCLEAN)
        return changed

    def tell(self, commands: Commands) -> None:
        """Send what an event has collected."""
        for broker_id, round_ in commands.rounds.items():
            sender = self._senders.get(broker_id)
            if sender is not None:
                sender.send(round_)

    def decide_and_tell(self, keys: Iterable[PartitionKey], election: Election = Election.ONLINE) -> Work[None]:
        """As :meth:`decide`, and tell the brokers."""
        changed = yield from self.decide(keys, election=election)
        if changed:
            commands = Commands(self.context)
            commands.changed(changed)
            self.tell(commands)

    # --- events ---------------------------------------------------------------------------------------------------

    def _fail_over(self) -> Work[None]:
        """D. First what ZooKeeper says to everyone, then what follows from who lives now, then what was begun."""
        context = self.context
        yield from read([Create(path) for path in PERSISTENT])
        yield from self._delete_isr_changes()
        for broker_id, (node, czxid) in (yield from self._read_brokers()).items():
            context.register(broker_id, node, czxid)
            self._open(broker_id)
        names = yield from self._read_names(TOPICS, "topics", self.topics_changed)
        yield from read_topics(context, self.elected, names, self.new_uuid)
        yield from self._read_orders()
        deleting = yield from self._read_names(DELETE_TOPICS, "delete", self.topics_to_delete)
        yield from begin_deletions(context, self.options.config, deleting)

        first = Commands(context)
        first.introduce()
        self.tell(first)
        everything = Commands(context)
        for broker_id in context.image.brokers:
            everything.full(broker_id)
        everything.tell_all(context.all_keys())
        self.tell(everything)

        rules = replace(self.rules, init_leaderless=self.options.switches.init_leaderless_isr == "on")
        changed = yield from self.decide(context.all_keys(), rules)
        commands = Commands(context)
        commands.changed(changed)
        for topic in context.deleting:
            self.stop_deleted(commands, topic)
        self.tell(commands)
        yield from self.partitions_to_add()
        yield from self.partitions_to_remove()
        self._arm_rebalance()

    def brokers_changed(self) -> Work[None]:
        """A. and startup: a broker whose node is another than it was has gone and come."""
        found = yield from self._read_brokers()
        known = self.context.image.brokers
        gone = [broker_id for broker_id in known if _epoch(found, broker_id) != known[broker_id].epoch]
        new = [broker_id for broker_id in found if broker_id in gone or broker_id not in known]
        if gone:
            yield from self._brokers_failed(gone)
        if new:
            for broker_id in new:
                node, czxid = found[broker_id]
                self.context.register(broker_id, node, czxid)
                self._open(broker_id)
            yield from self._brokers_started(new)

    def _brokers_failed(self, gone: list[int]) -> Work[None]:
        index = self.context.image.index
        keys = [key for broker_id in gone for key in self.context.keys_at(index.in_sync(broker_id))]
        for broker_id in gone:
            self.context.unregister(broker_id)
            sender = self._senders.pop(broker_id, None)
            if sender is not None:
                sender.close()
        changed = yield from self.decide(keys)
        commands = Commands(self.context)
        commands.changed(changed)  # if nothing has changed, who lives has all the same
        self.tell(commands)

    def _brokers_started(self, new: list[int]) -> Work[None]:
        context = self.context
        greeting = Commands(context)
        greeting.introduce()
        greeting.tell(new, context.all_keys())
        self.tell(greeting)
        waiting = [*context.keys_at(context.image.index.leaderless()), *context.reassigned]
        changed = yield from self.decide(waiting)
        commands = Commands(context)
        commands.changed(changed)
        for broker_id in new:
            commands.full(broker_id)
        for topic in context.deleting:
            self.stop_deleted(commands, topic, on=new)
        self.tell(commands)

    def topics_changed(self) -> Work[None]:
        """B. Handle topics that are new, and topics that another client of ZooKeeper has deleted."""
        context = self.context
        names = yield from self._read_names(TOPICS, "topics", self.topics_changed)
        known = list(context.image.topics_by_name)
        stats: list[Any] = yield from read([Exists(topic_path(topic)) for topic in known])
        for topic, stat in zip(known, stats, strict=True):
            if not isinstance(stat, Stat) or stat.czxid != context.topic_created[topic]:
                self._topic_lost(topic)
        new = [topic for topic in names if topic not in context.image.topics_by_name]
        yield from self._add_topics(new)

    def _topic_lost(self, topic: str) -> None:
        self.context.gone[topic] = None
        commands = Commands(self.context)
        keys = [PartitionKey(topic, index) for index in self.context.image.topics_by_name[topic].partitions]
        commands.tell_all(keys)
        for key in keys:
            commands.delete(key)
        self.tell(commands)
        self.context.remove_topic(topic)

    def _add_topics(self, new: list[str]) -> Work[None]:
        yield from read_topics(self.context, self.elected, new, self.new_uuid)
        topics = [
            self.context.image.topics_by_name[topic] for topic in new if topic in self.context.image.topics_by_name
        ]
        states = {
            PartitionKey(topic.name, index): state for topic in topics for index, state in topic.partitions.items()
        }
        changed = yield from self.decide(states)
        for key, state in states.items():
            if state.partition_epoch != NO_NODE:
                changed.setdefault(key, state)
        if changed:
            commands = Commands(self.context)
            commands.changed(changed)
            self.tell(commands)

    def isrs_changed(self) -> Work[None]:
        """Leaders have written ISRs: tell all, and see whether a reassignment is done."""
        names = yield from self._read_names(ISR_CHANGES, "isr", self.isrs_changed)
        paths = [f"{ISR_CHANGES}/{name}" for name in names]
        keys: dict[PartitionKey, None] = {}
        for path, node in zip(paths, (yield from read([Get(path) for path in paths])), strict=True):
            if isinstance(node, Data):
                try:
                    change = decode_node(IsrChangeNode, path, node.data)
                except ZnodeError:
                    continue
                keys.update(dict.fromkeys(PartitionKey(one.topic, one.partition) for one in change.partitions))
        changed = yield from reread(self.context, list(keys))
        commands = Commands(self.context)
        if changed:
            commands.tell_all(changed)
        commands.changed((yield from self.decide(keys, replace(self.rules, leaving_stay=True))))
        self.tell(commands)
        if paths:
            yield [Delete(path) for path in paths]

    def orders_changed(self) -> Work[None]:
        """F. Reassignments that were asked for, changed or taken back."""
        before = list(self.context.reassigned)
        yield from self._read_orders()
        moving = [PartitionKey(t.name, index) for t, index, s in self.context.image.all_partitions() if s.reassigning]
        yield from self.decide_and_tell([*before, *self.context.reassigned, *moving])

    def partitions_to_add(self) -> Work[None]:
        """Partitions that are to be added to topics."""
        before = dict.fromkeys(self.context.all_keys())
        while True:
            found = yield from read_tree(self.queue, PARTITIONS_ADD, "add", self.partitions_to_add)
            if (yield from add_partitions(self.context, self.elected, found)):
                break
        yield from self.decide_and_tell([key for key in self.context.all_keys() if key not in before])

    def partitions_to_remove(self) -> Work[None]:
        """Partitions that are to be removed from topics."""
        before = {key: state for key in self.context.all_keys() if (state := self.context.partition(key)) is not None}
        while True:
            found = yield from read_tree(self.queue, PARTITIONS_REMOVE, "remove", self.partitions_to_remove)
            if (yield from remove_partitions(self.context, self.elected, found)):
                break
        commands = Commands(self.context)
        for key, state in before.items():
            if self.context.partition(key) is None:
                commands.removed(key, state)
        self.tell(commands)

    def topics_to_delete(self) -> Work[None]:
        """Topics that are to be deleted."""
        names = yield from self._read_names(DELETE_TOPICS, "delete", self.topics_to_delete)
        begun = yield from begin_deletions(self.context, self.options.config, names)
        if begun:
            commands = Commands(self.context)
            for topic in begun:
                commands.tell_all(PartitionKey(topic, index) for index, _ in self.context.deleting[topic])
                self.stop_deleted(commands, topic)
            self.tell(commands)

    def stop_deleted(self, commands: Commands, topic: str, on: Iterable[int] | None = None) -> None:
        """Have the replicas deleted that are not known to be gone, those on brokers that live."""
        for index, broker_id in self.context.deleting[topic]:
            if on is None or broker_id in on:
                commands.delete(PartitionKey(topic, index), on=(broker_id,))

    def _topic_deleted(self, topic: str) -> Work[None]:
        if self.context.deleting.get(topic, True):
            return
        yield from delete_nodes(self.context, self.elected, topic)
        self.context.remove_topic(topic)
        yield from self.topics_changed()  # it may have been created again, before this was read

    # --- configuration --------------------------------------------------------------------------------------------

    def configured(self, of_all_brokers: Mapping[str, str]) -> None:
        """This broker has read what is configured for all brokers: news if another client of ZooKeeper wrote it."""
        if of_all_brokers != self.context.image.configs.get(ALL_BROKERS_RESOURCE, {}):
            self.queue.put("configuration", self._read_configuration)

    def _read_configuration(self) -> Work[None]:
        """Read it once more: meanwhile this controller may have written another, which the broker has not read yet."""
        (node,) = yield from read([Get(ALL_BROKERS_CONFIG)])
        values = decode_config(ALL_BROKERS_CONFIG, node.data) if isinstance(node, Data) else {}
        self.context.configure(ALL_BROKERS_RESOURCE, values)
        yield from self.decide_leaderless()

    def decide_leaderless(self) -> Work[None]:
        """Give leaders to partitions that may have an unclean one now."""
        yield from self.decide_and_tell(self.context.keys_at(self.context.image.index.leaderless()))

    # --- preferred leaders ----------------------------------------------------------------------------------------

    def _arm_rebalance(self) -> None:
        if self.options.config.auto_leader_rebalance:
            delay = self.options.config.leader_imbalance_check_ms * MS
            self._ports.clock.call_later(delay, lambda: self.queue.put("rebalance", self._rebalance))

    def _rebalance(self) -> Work[None]:
        keys = self.context.keys_at(list(self.context.image.index.not_preferred()))
        yield from self.decide_and_tell(keys, Election.PREFERRED)
        self._arm_rebalance()

    # --- brokers' responses ---------------------------------------------------------------------------------------

    def _responded(self, sender: BrokerSender, request: Any, response: Any) -> None:
        if self._dropped:
            return
        broker_id = sender.broker_id
        if response.error_code == ErrorCode.STALE_BROKER_EPOCH:
            self._ports.clock.call_later(
                RECHECK_NS, lambda: self.queue.put(("recheck", broker_id), lambda: self._recheck(sender))
            )
        if response.error_code != ErrorCode.NONE:
            return  # STALE_CONTROLLER_EPOCH among them: the watch on /controller will say so, and the guard holds
        match request:
            case StopReplicaRequest():
                for key in stopped_replicas(request, response):
                    waiting = self.context.deleting.get(key.topic, {})
                    if (key.partition, broker_id) in waiting:
                        del waiting[key.partition, broker_id]
                        if not waiting:
                            self._finish_deletion(key.topic)
            case LeaderAndIsrRequest():
                failed = failed_replicas(request, response)
                if failed:
                    self.queue.put(object(), lambda: self._replicas_failed(sender, failed))

    def _finish_deletion(self, topic: str) -> None:
        self.queue.put(("deleted", topic), lambda: self._topic_deleted(topic))

    def _recheck(self, sender: BrokerSender) -> Work[None]:
        """A broker has refused its epoch. If it is registered under this one all the same, it did not know it yet."""
        (stat,) = yield from read([Exists(broker_path(sender.broker_id))])
        if self._senders.get(sender.broker_id) is not sender:
            return
        if isinstance(stat, Stat) and stat.czxid == sender.broker_epoch:
            yield from self._brokers_started([sender.broker_id])
        else:
            yield from self.brokers_changed()

    def _replicas_failed(self, sender: BrokerSender, failed: list[PartitionKey]) -> Work[None]:
        """A broker's log directory has failed: for its replicas there it is as if the broker were dead."""
        if self._senders.get(sender.broker_id) is sender:
            self.context.offline.setdefault(sender.broker_id, {}).update(dict.fromkeys(failed))
            yield from self.decide_and_tell(failed)

    # --- reading --------------------------------------------------------------------------------------------------

    def _read_brokers(self) -> Work[Mapping[int, Any]]:
        names = yield from self._read_names(BROKER_IDS, "brokers", self.brokers_changed)
        return (yield from read_brokers(names))

    def _read_names(self, path: str, name: str, event: Callable[[], Work[None]]) -> Work[list[str]]:
        (listing,) = yield from read([self.queue.watch(Children(path), name, event)])
        return list(listing.names) if isinstance(listing, Listing) else []

    def _read_orders(self) -> Work[None]:
        found = yield from read_tree(self.queue, PARTITIONS_REASSIGNED, "orders", self.orders_changed)
        self.context.reassigned.clear()
        useless = []
        for key, node in found.nodes.items():
            if self.context.partition(key) is not None:
                take_up_order(self.context, key, node)
            if key not in self.context.reassigned:
                useless.append(order_path(key))
        if useless:
            yield [Delete(path) for path in useless]

    def _delete_isr_changes(self) -> Work[None]:
        names = yield from self._read_names(ISR_CHANGES, "isr", self.isrs_changed)
        yield from read([Delete(f"{ISR_CHANGES}/{name}") for name in names])

    # --- brokers --------------------------------------------------------------------------------------------------

    def _open(self, broker_id: int) -> None:
        broker = self.context.image.brokers[broker_id]
        self._senders[broker_id] = BrokerSender(
            broker_id,
            broker.epoch,
            broker.endpoint,
            self._header,
            self._ports,
            self._responded,
            timeout_ns=self.options.config.controller_socket_timeout_ms * MS,
        )

    def _live_brokers(self) -> list[UpdateMetadataBroker]:
        return [
            UpdateMetadataBroker(
                id=broker.id,
                rack=broker.rack,
                endpoints=[
                    UpdateMetadataEndpoint(
                        host=listener.endpoint.host,
                        port=listener.endpoint.port,
                        listener=listener.name,
                        security_protocol=listener.security_protocol,
                    )
                    for listener in broker.listeners
                ],
            )
            for _, broker in sorted(self.context.image.brokers.items())
        ]

    def _live_leaders(self, leaders: list[int]) -> list[LeaderAndIsrLiveLeader]:
        brokers = [self.context.image.brokers[leader] for leader in leaders if leader in self.context.image.brokers]
        return [
            LeaderAndIsrLiveLeader(broker_id=broker.id, host_name=broker.endpoint.host, port=broker.endpoint.port)
            for broker in brokers
        ]

    def new_uuid(self) -> UUID:
        """An id for a new topic."""
        return UUID(int=self._ports.random.getrandbits(128), version=4)


def _epoch(found: Mapping[int, Any], broker_id: int) -> int | None:
    entry = found.get(broker_id)
    return None if entry is None else int(entry[1])
