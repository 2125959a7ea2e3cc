"""Reading what ZooKeeper holds: brokers, topics with their partitions, and what administration has asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from highwater_runtime.controller.zk.context import ControllerContext, PartitionKey
from highwater_runtime.controller.zk.election import Elected
from highwater_runtime.controller.zk.work import DeposedError, EventQueue, Work, read
from highwater_runtime.controller.zk.writes import take_up
from highwater_runtime.metadata.registrations import TOPIC_RESOURCE, ConfigResource
from highwater_runtime.metadata.znodes import (
    BrokerNode,
    TopicNode,
    broker_path,
    decode_config,
    decode_node,
    encode_node,
    leader_and_isr_path,
    topic_config_path,
    topic_path,
)
from highwater_runtime.ports.coordination import Aborted, Children, Data, Get, Listing, Multi, Set


def read_brokers(names: list[str]) -> Work[dict[int, tuple[BrokerNode, int]]]:
    """The nodes of the brokers of these ids, each with its czxid, in order of id."""
    ids = sorted(int(name) for name in names if name.isascii() and name.isdigit())
    nodes = yield from read([Get(broker_path(broker_id)) for broker_id in ids])
    return {
        broker_id: (decode_node(BrokerNode, broker_path(broker_id), node.data), node.stat.czxid)
        for broker_id, node in zip(ids, nodes, strict=True)
        if isinstance(node, Data)
    }


def read_topics(
    context: ControllerContext, elected: Elected, names: list[str], new_uuid: Callable[[], UUID]
) -> Work[None]:
    """Take up topics that are not known, with their configuration and the state of their partitions.

    A topic that should have an id and has none gets one, as Kafka does it.
    """
    todo = names
    while todo:
        nodes = yield from read([Get(topic_path(topic)) for topic in todo])
        again: list[str] = []
        added: list[PartitionKey] = []
        configured: list[str] = []
        for topic, data in zip(todo, nodes, strict=True):
            if not isinstance(data, Data):
                continue
            path = topic_path(topic)
            node = decode_node(TopicNode, path, data.data)
            if context.topic_ids and node.topic_id is None:
                named = encode_node(replace_id(node, new_uuid()))
                (outcome,) = yield [Multi(steps=(elected.guard, Set(path, named, data.stat.version)))]
                if isinstance(outcome, Aborted) and outcome.index == 0:
                    raise DeposedError
                again.append(topic)
                continue
            context.add_topic(topic, node, data.stat.version, data.stat.czxid)
            configured.append(topic)
            added += [PartitionKey(topic, index) for index in sorted(node.partitions)]
        configs = yield from read([Get(topic_config_path(topic)) for topic in configured])
        for topic, config in zip(configured, configs, strict=True):
            if isinstance(config, Data):
                values = decode_config(topic_config_path(topic), config.data)
                context.configure(ConfigResource(TOPIC_RESOURCE, topic), values)
        states = yield from read([Get(leader_and_isr_path(*key)) for key in added])
        for key, state in zip(added, states, strict=True):
            if isinstance(state, Data):
                take_up(context, key, state)
        todo = again


def replace_id(node: TopicNode, topic_id: UUID) -> TopicNode:
    """The node with an id."""
    return TopicNode(
        partitions=node.partitions,
        topic_id=topic_id,
        adding_replicas=node.adding_replicas,
        removing_replicas=node.removing_replicas,
    )


@dataclass(slots=True)
class Tree:
    """The nodes ``/admin/…/T/P`` of one kind of request. ``topics``: the parents, with children or without."""

    root: str
    nodes: dict[PartitionKey, Data] = field(default_factory=dict)
    topics: list[str] = field(default_factory=list)

    def by_topic(self) -> dict[str, dict[int, Data]]:
        """The same, topic by topic."""
        topics: dict[str, dict[int, Data]] = {topic: {} for topic in self.topics}
        for key, node in self.nodes.items():
            topics[key.topic][key.partition] = node
        return topics


def read_tree(queue: EventQueue, root: str, name: Hashable, event: Callable[[], Work[None]]) -> Work[Tree]:
    """Read what is asked for under ``root``, with watches that put ``event``."""
    tree = Tree(root)
    (top,) = yield from read([queue.watch(Children(root), name, event)])
    tree.topics = list(top.names) if isinstance(top, Listing) else []
    listings: list[Any] = yield from read(
        [queue.watch(Children(f"{root}/{topic}"), name, event) for topic in tree.topics]
    )
    keys = [
        PartitionKey(topic, int(index))
        for topic, listing in zip(tree.topics, listings, strict=True)
        if isinstance(listing, Listing)
        for index in sorted(listing.names, key=lambda text: (len(text), text))
        if index.isascii() and index.isdigit()
    ]
    nodes = yield from read([queue.watch(Get(f"{root}/{key.topic}/{key.partition}"), name, event) for key in keys])
    tree.nodes = {key: node for key, node in zip(keys, nodes, strict=True) if isinstance(node, Data)}
    return tree
