"""What simulated controllers and brokers have in memory of the cluster."""

from __future__ import annotations

from collections.abc import Callable

from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_names, controller_names
from highwater_chaos.workload.metadata_probe import KnownLeaders, KnownMetadata, KnownPartition
from highwater_runtime.broker import Broker
from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.nodes.zookeeper_broker import ZooKeeperBroker
from highwater_runtime.sim import Simulator


def known_to_controllers(simulator: Simulator, cluster: Cluster) -> dict[str, KnownMetadata]:
    """By node: of each live controller of the quorum what it has as committed; of the controller of ZooKeeper mode what
    it has read."""
    known = {}
    for name in controller_names(cluster) if cluster.mode == "kraft" else broker_names(cluster):
        process = simulator.nodes[name].process
        match None if process is None else process.core:
            case QuorumController() as core:
                known[name] = _known(core.committed_image, has_ids=True)
            case ZooKeeperBroker() as core if (context := core.controller.context) is not None:
                known[name] = _known(context.image, has_ids=context.topic_ids, is_going=context.is_going)
    return known


def known_to_brokers(simulator: Simulator, cluster: Cluster) -> dict[str, KnownLeaders]:
    """By node: of each live broker what it acts on."""
    known = {}
    for name in broker_names(cluster):
        process = simulator.nodes[name].process
        if process is not None and isinstance(process.core, Broker):
            image = process.core.image
            leaders = {
                f"{topic.name}-{index}": (state.leader, state.leader_epoch)
                for topic, index, state in image.all_partitions()
            }
            known[name] = KnownLeaders(
                tuple(sorted(one.id for one in image.brokers.values() if not one.fenced)), leaders
            )
    return known


def _known(image: MetadataImage, *, has_ids: bool, is_going: Callable[[str], bool] = lambda _: False) -> KnownMetadata:
    partitions = {
        f"{topic.name}-{index}": KnownPartition(
            topic.id.hex if has_ids else "",
            state.leader,
            state.leader_epoch,
            state.partition_epoch,
            tuple(sorted(state.isr)),
            tuple(sorted(state.replicas)),
        )
        for topic, index, state in image.all_partitions()
        if state.partition_epoch >= 0 and not is_going(topic.name)
    }
    live = sorted(broker.id for broker in image.brokers.values() if not broker.fenced)
    return KnownMetadata(tuple(live), partitions, None)
