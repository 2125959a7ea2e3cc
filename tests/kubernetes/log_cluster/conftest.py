"""The operator in a thread, before a stand-in API server with a miniature cluster behind it.

What runs in pods is pretended; what the live cluster says is up to :class:`LiveCluster`, which follows the pods. The
whole chain with real nodes is in ``test_real_nodes.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from api_server.world import World
from operator_thread import OperatorThread
from waiting import until

from highwater_chaos.experiment.steps import CreateTopic
from highwater_operator import metrics
from highwater_operator.admin import (
    AdminError,
    BrokerView,
    ClusterView,
    EnsembleView,
    PartitionView,
    QuorumView,
    TopicView,
)
from highwater_operator.kube import AsyncKube
from highwater_operator.main import Options, operate
from highwater_operator.objects.images import Images
from highwater_operator.reconcile.context import Context, Pace
from highwater_runtime.ports import Endpoint

PATIENCE = 120.0
NAMESPACE = "default"
FAST = Pace(steady=0.7, waiting=0.3, moving=0.1)


def log_cluster(name: str = "demo", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "highwater.dev/v1alpha1",
        "kind": "LogCluster",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


@dataclass
class LiveCluster:
    """What a cluster's brokers would tell: brokers are those whose pods are or were ready."""

    api: Any
    name: str
    topics: dict[str, TopicView] = field(default_factory=dict)
    under_replicated: tuple[str, ...] = ()
    leader: int = 1000
    ensemble: EnsembleView | None = None
    """In ZooKeeper mode."""
    silent: bool = False
    refuses_topics: str | None = None
    registered: set[int] = field(default_factory=set)
    unregistered: list[int] = field(default_factory=list)
    created: list[str] = field(default_factory=list)

    def ready(self) -> set[int]:
        pods = self.api.objects("v1", "Pod", NAMESPACE)
        stem = f"{self.name}-broker-"
        return {
            int(pod["metadata"]["name"].removeprefix(stem))
            for pod in pods
            if pod["metadata"]["name"].startswith(stem) and is_ready(pod)
        }

    def place(self, topic: str, *replicas: Sequence[int]) -> None:
        """Have a topic with these replicas, all in sync."""
        partitions = tuple(
            PartitionView(topic, index, one[0], 0, tuple(one), tuple(one)) for index, one in enumerate(replicas)
        )
        self.topics[topic] = TopicView(topic, False, partitions)

    # --- as the operator sees it ---

    async def look(self) -> ClusterView:
        ready = self.ready()
        if self.silent or not ready:
            raise AdminError("no broker answered")
        self.registered |= ready
        brokers = {one: BrokerView(one, Endpoint("broker", one), one not in ready) for one in sorted(self.registered)}
        quorum = self.ensemble or QuorumView(self.leader, 3, 10, {1000: 10, 1001: 10, 1002: 10})
        return ClusterView("id", brokers, dict(self.topics), quorum, self.under_replicated)

    async def create_topic(self, topic: CreateTopic) -> None:
        if self.refuses_topics is not None:
            raise AdminError(self.refuses_topics)
        factor = topic.replication_factor or 1
        self.place(topic.name, *(tuple(range(factor)) for _ in range(topic.partitions)))
        self.created.append(topic.name)

    async def unregister_broker(self, broker: int) -> None:
        self.registered.discard(broker)
        self.unregistered.append(broker)

    async def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        raise AssertionError("the operator moves nothing by itself")


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


class Stage:
    """API server, miniature cluster, live clusters, and the operator: started and stopped as a test likes."""

    def __init__(self, api: Any, world: World) -> None:
        self.api = api
        self.world = world
        self.live: dict[str, LiveCluster] = {}
        self._operator: OperatorThread | None = None
        self.ended: BaseException | None = None

    def cluster(self, name: str = "demo") -> LiveCluster:
        return self.live.setdefault(name, LiveCluster(self.api, name))

    @asynccontextmanager
    async def _admin(self, brokers: Sequence[Endpoint], zookeepers: Sequence[Endpoint], **_: Any) -> Any:
        yield self.cluster(brokers[0].host.partition("-broker-")[0])

    # --- operator ---

    def start(
        self, open_admin: Any = None, *, options: Options | None = None, token: str | None = None, pace: Pace = FAST
    ) -> None:
        admin = open_admin or self._admin
        chosen = options or Options(liveness=None, metrics_port=None)

        async def serve(stop: asyncio.Event, ready: Callable[[], None]) -> None:
            kube = AsyncKube(self.api.configuration(token), patience=3.0)
            try:
                context = Context(kube, Images("highwater/node:test", "highwater/zookeeper:test"), admin, pace)
                await operate(context, chosen, stop=stop, ready=ready)
            finally:
                kube.close()

        self._operator = OperatorThread(self.api, serve)
        self.ended = self._operator.error

    def serve(self, **spec: Any) -> None:
        """Start, and have a LogCluster that is settled."""
        self.start()
        self.create(**spec)
        self.until_settled()

    def stop(self) -> None:
        operator, self._operator = self._operator, None
        if operator is not None:
            operator.stop()
            self.ended = operator.error

    # --- looking ---

    def create(self, name: str = "demo", **spec: Any) -> dict[str, Any]:
        return self.api.create(log_cluster(name, **spec))

    def patch(self, name: str, **spec: Any) -> None:
        self.api.patch("highwater.dev/v1alpha1", "LogCluster", name, NAMESPACE, {"spec": spec})

    def get(self, name: str = "demo") -> dict[str, Any]:
        found = self.api.get("highwater.dev/v1alpha1", "LogCluster", name, NAMESPACE)
        assert found is not None
        return found

    def status(self, name: str = "demo") -> dict[str, Any]:
        return self.get(name).get("status", {})

    def condition(self, type_: str, name: str = "demo") -> dict[str, Any]:
        found = self.get(name)
        for one in found.get("status", {}).get("conditions", []):
            if one["type"] == type_ and one["observedGeneration"] == found["metadata"]["generation"]:
                return one
        return {"status": "Unknown", "reason": "", "message": ""}

    def settled(self, name: str = "demo") -> bool:
        found = [self.condition(one, name)["status"] for one in ("Ready", "Progressing", "Degraded")]
        return found == ["True", "False", "False"]

    def until_settled(self, name: str = "demo", patience: float = PATIENCE) -> None:
        try:
            until(lambda: self.settled(name), f"{name} to settle", patience)
        except AssertionError as error:
            raise AssertionError(f"{error}; its status is {self.status(name)}") from None

    def steady_reconciles(self, more: int) -> None:
        """Wait until that many more reconciles have ended and found nothing under way.

        A status that says so is not yet the end: the Events come after it."""

        def ended() -> float:
            labels = {"kind": "LogCluster", "result": "steady"}
            found = metrics.REGISTRY.get_sample_value("highwater_operator_reconciles_total", labels)
            assert found is not None
            return found

        before = ended()
        until(lambda: ended() >= before + more, f"{more} more steady reconciles")

    def reconciles(self, more: int) -> None:
        """Wait until that many more reconciles have ended, whatever they found."""

        def ended() -> float:
            found = metrics.REGISTRY.get_sample_value(
                "highwater_operator_reconcile_duration_seconds_count", {"kind": "LogCluster"}
            )
            assert found is not None
            return found

        before = ended()
        until(lambda: ended() >= before + more, f"{more} more reconciles")

    def events(self, reason: str | None = None) -> list[dict[str, Any]]:
        return [one for one in self.api.objects("v1", "Event", NAMESPACE) if reason in (None, one["reason"])]

    def pods(self) -> dict[str, dict[str, Any]]:
        return {one["metadata"]["name"]: one for one in self.api.objects("v1", "Pod", NAMESPACE)}

    def set(self, name: str) -> dict[str, Any]:
        found = self.api.get("apps/v1", "StatefulSet", name, NAMESPACE)
        assert found is not None
        return found


@pytest.fixture
def stage(kube_api: Any) -> Iterator[Stage]:
    """Everything but the operator runs."""
    with World(kube_api) as world:
        made = Stage(kube_api, world)
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture
def wait_for() -> Callable[..., Any]:
    """``until(condition, what)``."""
    return until


@pytest.fixture
def make_stage() -> type[Stage]:
    """For tests that bring their own miniature cluster."""
    return Stage


@pytest.fixture
def real(kube_api: Any, nodes: Any) -> Iterator[Stage]:
    """A stage whose pods are processes: ``nodes`` of the test's module."""
    with World(kube_api, nodes) as world:
        stage = Stage(kube_api, world)
        try:
            yield stage
        finally:
            stage.stop()
            nodes.close()
