"""ZooKeeper mode: sessions, registration, the controller, its commands."""

from __future__ import annotations

from typing import Final

from highwater_lab.mutants.mutant import Mutant

ZOOKEEPER: Final = (
    Mutant(
        "zk-expired-broker-stays-away",
        "broker.zk.membership:Membership._event",
        "                self._on_event(event)\n                self._open()",
        "                self._on_event(event)",
        "a broker whose session has expired does not open another",
        "zookeeper",
    ),
    Mutant(
        "zk-lost-isr-answer-is-a-refusal",
        "broker.zk.isr_writer:IsrWrites.propose",
        "case Data(data=found, stat=stat) if _is(path, found, node):",
        "case Data(data=found, stat=stat) if _is(path, found, node) and stat.version == proposal.partition_epoch:",
        "a leader whose ISR write was done without an answer goes on with the former version (KAFKA-2729)",
        "zookeeper",
    ),
    Mutant(
        "zk-broker-bounce-unnoticed",
        "controller.zk.active:ActiveController.brokers_changed",
        "gone = [broker_id for broker_id in known if _epoch(found, broker_id) != known[broker_id].epoch]",
        "gone = [broker_id for broker_id in known if broker_id not in found]",
        "the controller does not notice a broker that was gone for a moment (KAFKA-7235)",
        "zookeeper",
    ),
    Mutant(
        "zk-topic-deletion-never-finishes",
        "controller.zk.active:ActiveController._responded",
        """if (key.partition, broker_id) in waiting:
                        del waiting[key.partition, broker_id]""",
        """if (broker_id, key.partition) in waiting:
                        del waiting[broker_id, key.partition]""",
        "the controller takes the confirmation of another replica's deletion than the one that was deleted",
        "zookeeper",
    ),
    Mutant(
        "zk-command-sent-once",
        "controller.zk.sender:BrokerSender._responded",
        "            self._ports.clock.call_later(RETRY_NS, self._attempt)\n            return",
        "            self._in_flight = False\n            self._due.popleft()\n            return self._next()",
        "a command that got no answer is not sent again",
        "zookeeper",
    ),
    Mutant(
        "zk-command-number-outlives-controller",
        "broker.zk.commands:Commands._go_on",
        "                self._sequence = _NO_SEQUENCE\n",
        "",
        "a broker takes the first commands of a new controller for old ones",
        "zookeeper",
    ),
    Mutant(
        "zk-dead-brokers-stay-known",
        "broker.zk.cluster_image:ClusterImage._brokers",
        "            self._apply(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch))",
        "            pass",
        "a broker never learns that another one has died",
        "zookeeper",
    ),
    Mutant(
        "zk-deletion-forgets-dead-brokers",
        "controller.zk.topic_deletion:begin_deletions",
        "for replica in state.replicas}",
        "for replica in state.replicas if replica in context.image.brokers}",
        "the deletion of a topic does not wait for replicas on dead brokers",
        "zookeeper",
    ),
    Mutant(
        "zk-rebalance-runs-once",
        "controller.zk.active:ActiveController._rebalance",
        "        self._arm_rebalance()\n",
        "",
        "leaders are moved back to the preferred replicas once, and never again",
        "zookeeper",
    ),
    Mutant(
        "zk-watch-fires-once",
        "controller.zk.work:EventQueue._submit_one",
        "            self._watched.pop(key, None)\n            self.put(operation.name, operation.event)",
        "            self.put(operation.name, operation.event)",
        "a watch of the controller that has fired is not set again",
        "zookeeper",
    ),
    Mutant(
        "zk-order-taken-back-goes-on",
        "controller.zk.active:ActiveController._read_orders",
        "        self.context.reassigned.clear()\n",
        "",
        "a reassignment that is taken back goes on",
        "zookeeper",
    ),
    Mutant(
        "zk-ephemerals-outlive-their-session",
        "zookeeper.state:EnsembleState.apply",
        "return Applied(None, self.tree.end_session(transaction.session, zxid))",
        "return Applied(None, [])",
        "ephemeral nodes stay when their session ends",
        "zookeeper",
    ),
    Mutant(
        "zk-producer-id-block-taken-twice",
        "broker.zk.producer_ids:WrittenBlocks.next_block",
        "write = Set(PRODUCER_ID_BLOCK, encode_node(node), result.stat.version)",
        "write = Set(PRODUCER_ID_BLOCK, encode_node(node), -1)",
        "two brokers that ask at a time get the same block of producer ids",
        "zookeeper",
    ),
)
