"""One controller on a quorum of one that lives in memory, with a clock that the test turns.

``cluster`` is a controller that is active; ``cluster.ask(request)`` returns its response, after everything it wrote
has been committed. The real quorum is used in ``test_in_simulator.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hand_ports import HandClock, HandTrace

from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.controller.kraft.quorum import MetadataQuorum
from highwater_runtime.metadata import MetadataImage, MetadataVersion, PartitionRegistration
from highwater_runtime.ports import MS, ApiMessage, Endpoint, InboundRequest, Ports
from highwater_runtime.raft import NotLeaderError, RaftListener
from highwater_runtime.switches import Switches
from highwater_runtime.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from highwater_runtime.wire.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from highwater_runtime.wire.registry import APIS

SESSION_MS = 9000
CLUSTER_ID = "test-cluster"


class FakeMetrics:
    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def counter(self, name: str, amount: float = 1.0, **labels: str) -> None:
        self.values[name] = self.values.get(name, 0.0) + amount

    def gauge(self, name: str, value: float, **labels: str) -> None:
        self.values[name] = value

    def forget(self, name: str, **labels: str) -> None:
        self.values.pop(name, None)


class FakeQuorum:
    """A quorum of one voter that commits when told to. Offset 0 of each epoch is its LeaderChange record."""

    def __init__(self, node_id: int, listener: RaftListener) -> None:
        self.node_id = node_id
        self.listener = listener
        self.epoch = 0
        self.leader_id: int | None = None
        self.high_watermark = 0
        self.batches: list[tuple[int, int, list[bytes]]] = []
        self.committed = 0
        self.stopped = False

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.node_id

    @property
    def log_end_offset(self) -> int:
        if not self.batches:
            return 0
        base, _, records = self.batches[-1]
        return base + max(1, len(records))

    def start(self) -> None:
        pass

    def handles(self, request: InboundRequest) -> bool:
        return False

    def on_request(self, request: InboundRequest) -> None:
        raise AssertionError("nothing is the quorum's here")

    def append(self, records: list[bytes]) -> int:
        if not self.is_leader:
            raise NotLeaderError(self.leader_id, self.epoch)
        self.batches.append((self.log_end_offset, self.epoch, list(records)))
        return self.log_end_offset - 1

    def commit(self) -> None:
        while self.committed < len(self.batches):
            base, epoch, records = self.batches[self.committed]
            self.committed += 1
            self.high_watermark = base + max(1, len(records))
            self.listener.on_commit(base, epoch, records, self.high_watermark - 1)

    def lead(self) -> None:
        """Win an election."""
        self.epoch += 1
        self.leader_id = self.node_id
        self.append([])
        self.commit()
        self.listener.on_leader_change(self.node_id, self.epoch)

    def lose(self, leader_id: int | None, survives: bool = False) -> None:
        """Lose the leadership to another; what is not committed ``survives`` there or is lost."""
        self.epoch += 1
        self.leader_id = leader_id
        if not survives:
            del self.batches[self.committed :]
        self.listener.on_leader_change(leader_id, self.epoch)

    def resign(self) -> None:
        raise AssertionError("the controller does not resign")

    def stop(self, on_stopped: Callable[[], None]) -> None:
        self.stopped = True
        on_stopped()


class FakeLog:
    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class Cluster:
    """A controller, what it was given, and what brokers and administrators would send to it."""

    def __init__(
        self,
        *,
        replica_epoch_check: str = "on",
        metadata_version: MetadataVersion | None = None,
        properties: dict[str, Any] | None = None,
    ) -> None:
        self.clock = HandClock()
        self.metrics = FakeMetrics()
        self.trace = HandTrace()
        self.log = FakeLog()
        # No network and no disk: a controller that touches either fails with an AttributeError.
        ports = Ports(self.clock, None, None, Random(1), self.metrics, self.trace)  # type: ignore[arg-type]
        options = ControllerOptions(
            node_id=1000,
            voters={1000: Endpoint("controller-0", 9093), 1001: Endpoint("controller-1", 9093)},
            cluster_id=CLUSTER_ID,
            switches=Switches.of({"replica-epoch-check": replica_epoch_check}),
            config=NodeConfig.of({"broker.session.timeout.ms": SESSION_MS, **(properties or {})}),
            bootstrap_metadata_version=metadata_version or MetadataVersion.latest(),
        )
        self.controller = QuorumController(options, ports, lambda _options, _ports, listener: self._open(listener))
        self.controller.start()

    def _open(self, listener: RaftListener) -> Any:
        self.quorum = FakeQuorum(1000, listener)
        return MetadataQuorum(self.quorum, self.log)  # type: ignore[arg-type]

    @property
    def image(self) -> MetadataImage:
        return self.controller.committed_image

    def send(self, body: Any, version: int | None = None) -> list[Any]:
        """Deliver a request; the list gets its response when there is one."""
        replies: list[Any] = []

        def reply(response: ApiMessage) -> None:
            assert not replies, "answered twice"
            latest = APIS[body.API_KEY].max_version if version is None else version
            response.encode(latest)  # what is answered can be sent
            replies.append(response)

        chosen = APIS[body.API_KEY].max_version if version is None else version
        self.controller.on_request(InboundRequest(body, chosen, "test", "test", reply))
        return replies

    def ask(self, body: Any, version: int | None = None) -> Any:
        replies = self.send(body, version)
        self.quorum.commit()
        assert len(replies) == 1, "every request is answered once"
        return replies[0]

    def pass_ms(self, ms: int) -> None:
        self.clock.advance(ms * MS)
        self.quorum.commit()

    # --- brokers --------------------------------------------------------------------------------------------------

    def registration(self, broker_id: int, incarnation: int = 1, **changes: Any) -> BrokerRegistrationRequest:
        fields: dict[str, Any] = {
            "broker_id": broker_id,
            "cluster_id": CLUSTER_ID,
            "incarnation_id": UUID(int=broker_id << 32 | incarnation),
            "listeners": [Listener(name="PLAINTEXT", host=f"broker-{broker_id}", port=9092, security_protocol=0)],
            "features": [
                Feature(
                    name="metadata.version",
                    min_supported_version=int(MetadataVersion.minimum()),
                    max_supported_version=int(MetadataVersion.latest()),
                )
            ],
            "rack": None,
        }
        return BrokerRegistrationRequest(**{**fields, **changes})

    def register(self, broker_id: int, incarnation: int = 1) -> int:
        """Register; returns the broker epoch."""
        response = self.ask(self.registration(broker_id, incarnation))
        assert response.error_code == 0
        epoch: int = response.broker_epoch
        return epoch

    def heartbeat(
        self, broker_id: int, *, fence: bool = False, shut_down: bool = False, offset: int | None = None
    ) -> BrokerHeartbeatResponse:
        """A heartbeat under the registered epoch; the broker has followed the metadata log to its end."""
        response: BrokerHeartbeatResponse = self.ask(
            BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=self.image.brokers[broker_id].epoch,
                current_metadata_offset=self.image.offset if offset is None else offset,
                want_fence=fence,
                want_shut_down=shut_down,
            )
        )
        return response

    def up(self, *broker_ids: int, incarnation: int = 1) -> None:
        """Register and unfence."""
        for broker_id in broker_ids:
            self.register(broker_id, incarnation)
            assert not self.heartbeat(broker_id).is_fenced

    def silence(self, *broker_ids: int) -> None:
        """Let the sessions of these brokers time out while the others go on."""
        others = [b for b in sorted(self.image.brokers) if b not in broker_ids and not self.image.brokers[b].fenced]
        for _ in range(4):
            self.pass_ms(SESSION_MS // 3)
            for other in others:
                self.heartbeat(other)

    # --- partitions -----------------------------------------------------------------------------------------------

    def create_topic(self, name: str, *assignment: list[int]) -> None:
        response = self.ask(
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=name,
                        num_partitions=-1,
                        replication_factor=-1,
                        assignments=[
                            CreatableReplicaAssignment(partition_index=index, broker_ids=replicas)
                            for index, replicas in enumerate(assignment)
                        ],
                    )
                ]
            )
        )
        assert response.topics[0].error_code == 0, response.topics[0].error_message

    def partition(self, name: str = "orders", index: int = 0) -> PartitionRegistration:
        found = self.image.partition(name, index)
        assert found is not None
        return found

    def proposal(
        self, isr: list[int], epochs: list[int] | None = None, *, sender: int | None = None, **changes: Any
    ) -> AlterPartitionRequest:
        """The leader of orders-0 proposes ``isr``, with the registered epochs unless told otherwise."""
        partition = self.partition()
        if epochs is None:
            epochs = [self.image.brokers[b].epoch if b in self.image.brokers else 0 for b in isr]
        leader = partition.leader if sender is None else sender
        fields: dict[str, Any] = {
            "partition_index": 0,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.partition_epoch,
            "new_isr_with_epochs": [BrokerState(broker_id=b, broker_epoch=e) for b, e in zip(isr, epochs, strict=True)],
        }
        broker = self.image.brokers.get(leader)
        return AlterPartitionRequest(
            broker_id=leader,
            broker_epoch=-1 if broker is None else broker.epoch,
            topics=[
                TopicData(
                    topic_id=self.image.topics_by_name["orders"].id, partitions=[PartitionData(**{**fields, **changes})]
                )
            ],
        )

    def propose(self, isr: list[int], epochs: list[int] | None = None, **changes: Any) -> Any:
        """Send :meth:`proposal`; returns the partition's result."""
        response = self.ask(self.proposal(isr, epochs, **changes))
        assert response.error_code == 0
        return response.topics[0].partitions[0]


@pytest.fixture
def make_cluster() -> Callable[..., Cluster]:
    """Makes a :class:`Cluster` whose controller is active."""

    def make(**options: Any) -> Cluster:
        cluster = Cluster(**options)
        cluster.quorum.lead()
        cluster.quorum.commit()
        return cluster

    return make


@pytest.fixture
def cluster(make_cluster: Callable[..., Cluster]) -> Cluster:
    """An active controller without brokers."""
    return make_cluster()
