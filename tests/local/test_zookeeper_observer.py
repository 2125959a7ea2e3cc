"""The harness as an observer of real ZooKeeper servers: it hears of every committed transaction once, in order."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException, OperationTimeoutError, SessionExpiredError

from highwater_chaos.backends.ensemble.jute import JuteError, Reader, write_buffer, write_int, write_long
from highwater_chaos.backends.ensemble.observer import EnsembleObserver, Witnessed
from highwater_chaos.backends.ensemble.servers import Member, available, command, server_config
from highwater_chaos.backends.ensemble.transactions import EnsembleTree, Header, read_snapshot
from highwater_chaos.backends.local.layout import free_ports
from highwater_runtime.metadata.znodes import (
    PERSISTENT,
    BrokerNode,
    LeaderAndIsrNode,
    TopicNode,
    broker_path,
    encode_node,
    leader_and_isr_path,
    partition_path,
    topic_path,
)
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    ControllerChanged,
    PartitionChanged,
)
from highwater_runtime.zookeeper.tree import Change

HOST = "127.0.0.1"
PATIENCE = 90.0

needs_zookeeper = pytest.mark.skipif(available() is not None, reason=available() or "")


class Servers:
    """An ensemble of real servers."""

    def __init__(self, folder: Path, count: int) -> None:
        ports = iter(free_ports(3 * count))
        self.members = {number: Member(HOST, next(ports), next(ports), next(ports)) for number in range(1, count + 1)}
        self.folder = folder
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, number: int) -> None:
        home = self.folder / str(number)
        data = home / "data"
        data.mkdir(parents=True, exist_ok=True)
        (data / "myid").write_text(f"{number}\n")
        config = home / "zoo.cfg"
        config.write_text(server_config(self.members, number, data=data, session_timeout_ms=4500, bind=HOST))
        with (home / "log").open("ab") as log:
            self.processes[number] = subprocess.Popen(command(config), stdout=log, stderr=log)

    def kill(self, number: int) -> None:
        process = self.processes.pop(number)
        process.kill()
        process.wait()

    def quorum_ports(self) -> dict[str, Endpoint]:
        return {
            f"zookeeper-{number - 1}": Endpoint(HOST, member.quorum_port) for number, member in self.members.items()
        }

    def client(self) -> KazooClient:
        """Connected."""
        hosts = ",".join(f"{HOST}:{member.client_port}" for member in self.members.values())
        client = KazooClient(hosts, timeout=4.5, connection_retry={"max_tries": -1, "delay": 0.1, "max_delay": 0.5})
        client.start(timeout=PATIENCE)
        return client


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Callable[[int], Servers]]:
    made: list[Servers] = []

    def make(count: int) -> Servers:
        ensemble = Servers(tmp_path, count)
        made.append(ensemble)
        for number in ensemble.members:
            ensemble.start(number)
        return ensemble

    yield make
    for ensemble in made:
        for number in list(ensemble.processes):
            ensemble.kill(number)


class Heard:
    """What an observer has told so far."""

    def __init__(self, observer: EnsembleObserver) -> None:
        self.observer = observer
        self.all: list[Witnessed] = []

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            self.all += self.observer.take()
            if condition():
                return
            assert time.monotonic() < deadline, f"heard so far: {self.all}, {self.observer.notes()}"
            time.sleep(0.02)

    def states(self) -> list[int]:
        """Partition epochs of orders-0, as they were told."""
        return [one.event.partition_epoch for one in self.all if isinstance(one.event, PartitionChanged)]


def begin(client: KazooClient) -> None:
    for path in PERSISTENT:
        client.create(path)
    client.create(topic_path("orders"), encode_node(TopicNode(partitions={0: (0, 1)})))
    for path in (f"{topic_path('orders')}", partition_path("orders", 0)):
        client.ensure_path(path)
    client.create(leader_and_isr_path("orders", 0), state(0))


def state(leader_epoch: int) -> bytes:
    return encode_node(LeaderAndIsrNode(leader=0, leader_epoch=leader_epoch, isr=(0, 1), controller_epoch=1))


def write(client: KazooClient, leader_epoch: int) -> None:
    """The state of that leader epoch, whose version is the same number, however often the connection breaks."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            path = leader_and_isr_path("orders", 0)
            if client.get(path)[1].version == leader_epoch:
                return
            client.set(path, state(leader_epoch), version=leader_epoch - 1)
        except (ConnectionLoss, SessionExpiredError, OperationTimeoutError, KazooException):
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.thorough
@needs_zookeeper
def test_nothing_is_missed_or_told_twice_while_leaders_of_the_ensemble_die(servers: Callable[[int], Servers]) -> None:
    ensemble = servers(3)
    client = ensemble.client()
    observer = EnsembleObserver(ensemble.quorum_ports(), silence_s=5.0)
    heard = Heard(observer)
    try:
        begin(client)
        before_ns = time.monotonic_ns()
        for number in range(1, 4):
            write(client, number)
        heard.until(lambda: 3 in heard.states())
        for number in range(4, 10, 3):
            leader = int(heard.all[-1].node.rpartition("-")[2]) + 1
            ensemble.kill(leader)
            for following in range(number, number + 3):
                write(client, following)  # the first ones are committed before the observer has found the new leader
            heard.until(lambda last=number + 2: last in heard.states())
            assert heard.all[-1].node != f"zookeeper-{leader - 1}"
            ensemble.start(leader)
        after_ns = time.monotonic_ns()
    finally:
        client.stop()
        client.close()
        observer.close()
    assert heard.states() == list(range(10))
    assert observer.notes() == ()
    times = [one.time_ns for one in heard.all]
    assert times == sorted(times)
    # The clocks of the machine, wall and monotonic, drift apart by far less than a second meanwhile.
    first = next(one for one in heard.all if getattr(one.event, "partition_epoch", 0) == 1)
    assert before_ns - 10**9 < first.time_ns <= times[-1] < after_ns


@needs_zookeeper
def test_a_session_takes_its_nodes_along_and_a_multi_is_one_transaction(servers: Callable[[int], Servers]) -> None:
    ensemble = servers(1)
    client, broker = ensemble.client(), ensemble.client()
    observer = EnsembleObserver(ensemble.quorum_ports(), silence_s=5.0)
    heard = Heard(observer)
    try:
        begin(client)
        heard.until(lambda: heard.states() == [0])
        multi = broker.transaction()
        multi.create("/controller", b"7", ephemeral=True)
        multi.create("/controller_epoch", b"4")
        multi.create(broker_path(7), encode_node(BrokerNode(endpoints={"PLAINTEXT": "x:1"})), ephemeral=True)
        multi.commit()
        refused = client.transaction()
        refused.set_data(leader_and_isr_path("orders", 0), state(9))
        refused.check("/controller_epoch", 5)
        refused.commit()
        czxid = client.exists(broker_path(7)).czxid
        broker.stop()
        heard.until(lambda: any(isinstance(one.event, BrokerRegistrationChanged) for one in heard.all))
    finally:
        for one in (client, broker):
            one.stop()
            one.close()
        observer.close()
    told = [one.event for one in heard.all if not isinstance(one.event, PartitionChanged)]
    assert [type(event) for event in told] == [
        BrokerRegistered,
        ControllerChanged,
        BrokerRegistrationChanged,
        ControllerChanged,
    ]
    registered, elected, gone, resigned = told
    assert (registered.broker_epoch, registered.metadata_offset) == (czxid, czxid)
    assert (elected.broker, elected.epoch, elected.metadata_offset) == (7, 4, czxid)
    assert (gone.broker, gone.broker_epoch, resigned.broker) == (7, czxid, -1)
    assert gone.metadata_offset == resigned.metadata_offset > czxid
    assert heard.states() == [0], "a multi that failed has changed nothing"


@pytest.mark.thorough
@needs_zookeeper
def test_who_was_away_for_too_long_says_so(servers: Callable[[int], Servers], monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has nothing of what went before sends its whole tree. Here the observer forgets where it was."""
    ensemble = servers(1)
    client = ensemble.client()
    observer = EnsembleObserver(ensemble.quorum_ports(), silence_s=5.0)
    heard = Heard(observer)
    try:
        begin(client)
        write(client, 1)
        heard.until(lambda: 1 in heard.states())
        observer._tree.zxid = 1  # before the first transaction that the server has
        ensemble.kill(1)
        ensemble.start(1)
        write(client, 2)
        heard.until(lambda: 2 in heard.states())
    finally:
        client.stop()
        client.close()
        observer.close()
    assert heard.states() == [0, 1, 2]
    (note,) = observer.notes()
    assert "sent the harness its whole tree" in note


def test_what_is_not_zookeepers_is_an_error() -> None:
    with pytest.raises(JuteError, match="expected a length"):
        Reader.of(write_int(-7)).buffer()
    with pytest.raises(JuteError, match="expected a length"):
        Reader.of(write_int(2**31 - 1)).buffer()
    with pytest.raises(JuteError, match="expected 4 bytes"):
        Reader.of(b"\0").number()
    with pytest.raises(JuteError, match="unknown type 99"):
        EnsembleTree().apply(Header(1, 1, 0, 99), Reader.of(b""))
    with pytest.raises(JuteError, match="BenWasHere"):
        read_snapshot(Reader.of(write_int(0) + write_int(0) + write_buffer(b"/") + write_buffer(b"Nobody")))


def test_a_snapshot_tells_what_differs() -> None:
    tree = EnsembleTree()
    create = write_buffer(b"/a") + write_buffer(b"1") + write_int(-1) + b"\1" + write_int(0)
    assert tree.apply(Header(5, 1, 0, 1), Reader.of(create)) == [Change("/a", b"1", 0, 1, 5)]
    assert tree.apply(Header(5, 2, 0, 1), Reader.of(create.replace(b"/a", b"/b"))) == [Change("/b", b"1", 0, 2, 5)]
    changed = [Change("/b", b"2", 1, 2, 5), Change("/c", b"", 0, 3, 0)]
    assert tree.replace(4, changed) == [Change("/a", None), *changed]
    assert tree.replace(5, changed) == []
    close = tree.apply(Header(5, 6, 0, -11), Reader.of(b""))
    assert close == [Change("/b", None)]
    assert write_long(-1) == b"\xff" * 8
