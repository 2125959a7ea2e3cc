"""Short stories of one ensemble: who leads, who lags, who has lost a session, and what its client must see."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ensemble import QUICK, TICK_MS, Ensemble

from highwater_runtime.ports import MS
from highwater_runtime.ports.coordination import (
    MAX_REQUEST_BYTES,
    Check,
    Children,
    Create,
    Data,
    Delete,
    Exists,
    Failure,
    Get,
    SessionEvent,
    Set,
    WatchEvent,
    WatchKind,
)


def test_an_acknowledged_write_survives_the_power_loss_of_all() -> None:
    e = Ensemble().start()
    a = e.open()
    e.must(a, Create("/kept", b"1"))
    for name in e.servers:
        e.sim.power_loss(name, keep="none")
    for name in e.servers:
        e.sim.start(name)
    e.until(lambda: a.is_connected and len(a.events) > 1)
    assert e.must(a, Get("/kept")).data == b"1"


def test_nothing_is_written_without_a_majority() -> None:
    e = Ensemble().start()
    a = e.open_at(e.leader or "")
    e.sim.faults.cut([e.leader, "client-0"], e.followers)
    results = a.submit(Create("/lost"))
    e.until(lambda: bool(results))
    assert results == [Failure.CONNECTION_LOSS]
    e.until(lambda: a.events[-1] is SessionEvent.SUSPENDED)
    e.sim.faults.heal_all()
    e.until(lambda: a.is_connected)
    assert e.do(a, Exists("/lost")) is None, "the deposed leader's write is gone"


def test_a_session_ends_by_a_commit_and_for_all() -> None:
    e = Ensemble().start()
    a, b = e.open(0), e.open(1)
    e.must(a, Create("/owner", b"a", ephemeral=True))
    e.must(b, Exists("/owner"), watch=True)
    e.sim.pause("client-0")
    e.until(lambda: bool(b.watched))
    assert b.watched == [WatchEvent(WatchKind.DELETED, "/owner")]
    e.must(b, Create("/owner", b"b", ephemeral=True))
    e.sim.resume("client-0")
    e.until(lambda: a.has_expired)
    assert a.events == [SessionEvent.CONNECTED, SessionEvent.SUSPENDED, SessionEvent.EXPIRED]
    assert e.do(a, Delete("/owner")) is Failure.SESSION_EXPIRED
    assert e.must(b, Get("/owner")).data == b"b"


def test_a_client_whose_write_blocks_keeps_its_session() -> None:
    """Its event loop stands still for five time-outs. ZooKeeper's client pings from a thread of its own."""
    e = Ensemble().start()
    a, b = e.open(0, timeout_ms=1000), e.open(1)
    e.must(a, Create("/owner", b"a", ephemeral=True))
    process = e.sim.node("client-0").process
    assert process is not None
    for _ in range(2):
        process.hold()
        e.run_ms(5000)
        process.release()
        e.run_ms(1000)
        assert a.is_connected
        assert SessionEvent.EXPIRED not in a.events
        assert e.must(b, Get("/owner")).data == b"a"
    process.hold()
    e.sim.pause("client-0")
    e.run_ms(3000)
    assert isinstance(e.do(b, Get("/owner")), Failure), "a process that is stopped as a whole pings no more"


def test_nobody_but_the_ensemble_ends_a_session() -> None:
    """A client that is cut off for longer than its time-out, from an ensemble without a majority, goes on with it."""
    e = Ensemble().start()
    a = e.open(timeout_ms=600)
    e.must(a, Create("/owner", ephemeral=True))
    for name in e.followers:
        e.sim.power_loss(name)
    e.run_ms(3000)
    assert a.events[-1] is SessionEvent.SUSPENDED
    for name in e.servers:
        if not e.sim.node(name).is_alive:
            e.sim.start(name)
    e.until(lambda: a.is_connected)
    assert e.must(a, Exists("/owner")).ephemeral_owner == a.session.key.id


def test_a_new_leader_grants_every_session_its_whole_time_out_again() -> None:
    e = Ensemble().start()
    a, b = e.open(0), e.open(1)
    e.must(a, Create("/owner", ephemeral=True))
    e.sim.kill("client-0")
    e.run_ms(600)
    e.sim.kill(e.leader or "")
    e.until(lambda: e.leader is not None)
    began = e.sim.now_ns
    e.until(lambda: b.is_connected)
    leader = e.server(e.leader or "")
    e.until(lambda: a.session.key.id not in leader.state.sessions)
    assert 900 * MS <= e.sim.now_ns - began <= (1000 + 2 * TICK_MS) * MS


def test_a_server_that_is_behind_refuses_the_client() -> None:
    """The client has read a write at a server that dies; the next one has not applied that write yet."""
    e = Ensemble(config=replace(QUICK, quorum_fetch_timeout_ms=2000, quorum_request_timeout_ms=2000)).start()
    behind, ahead = e.followers
    writer = e.open_at(e.leader or "", client=1)
    e.must(writer, Create("/news", b"old"))
    a = e.open_at(ahead, then=behind)
    e.run_ms(50)
    e.sim.faults.delay(800 * MS, "Fetch", direction="response", to_nodes=e.leader, from_nodes=behind)
    e.run_ms(1000)
    e.must(writer, Set("/news", b"new"))
    e.until(lambda: e.must(a, Get("/news")).data == b"new")
    assert e.server(behind).state.tree.read(Get("/news")).data == b"old"
    e.sim.kill(ahead)
    e.until(lambda: len(a.events) == 3)
    assert a.events[-1] is SessionEvent.CONNECTED
    assert e.must(a, Get("/news")).data == b"new"
    assert a.session.server.host == behind or e.server(behind).state.zxid < a.session.last_zxid


def test_a_write_that_comes_late_by_a_former_connection_is_refused() -> None:
    e = Ensemble().start()
    server, _ = e.followers
    a = e.open_at(server)
    e.must(a, Create("/order"))
    hold = e.sim.faults.hold("ZookeeperPropose", from_nodes=server)
    early = a.submit(Set("/order", b"early"))
    e.until(lambda: hold.caught == 1)
    e.sim.faults.cut("client-0", server)
    e.until(lambda: a.is_connected and a.session.server.host != server)
    assert early == [Failure.CONNECTION_LOSS]
    e.must(a, Set("/order", b"late"))
    e.sim.faults.heal(hold)
    e.run_ms(300)
    assert hold.released == 1
    assert e.must(a, Get("/order")).data == b"late"


def test_a_write_of_a_session_that_has_ended_is_refused() -> None:
    e = Ensemble().start()
    server, _ = e.followers
    a, b = e.open_at(server, 0), e.open(1)
    hold = e.sim.faults.hold("ZookeeperPropose", from_nodes=server)
    a.submit(Create("/late"))
    e.until(lambda: hold.caught == 1)
    e.sim.pause("client-0")
    leader = e.server(e.leader or "")
    e.until(lambda: a.session.key.id not in leader.state.sessions)
    e.sim.faults.heal(hold)
    e.run_ms(300)
    assert hold.released == 1
    assert e.do(b, Exists("/late")) is None


def test_results_and_events_come_in_order() -> None:
    """A read sees the writes before it, and a watch's event comes before what it is about."""
    e = Ensemble().start()
    a = e.open_at(e.followers[0])
    e.must(a, Create("/n", b"0"))
    a.log.clear()
    for operation, watch in ((Get("/n"), True), (Set("/n", b"1"), False), (Get("/n"), True), (Delete("/n"), False)):
        a.submit(operation, watch=watch)
    last = a.submit(Exists("/n"))
    e.until(lambda: bool(last))
    shown = [what.data if isinstance(what, Data) else getattr(what, "kind", what) for kind, what in a.log]
    assert shown[:2] == [b"0", WatchKind.CHANGED]
    assert shown[3:] == [b"1", WatchKind.DELETED, None, None]


def test_watches_are_lost_with_the_connection_and_told_so() -> None:
    e = Ensemble().start()
    a = e.open()
    e.must(a, Children("/"), watch=True)
    e.must(a, Exists("/later"), watch=True)
    e.sim.kill(a.session.server.host)
    e.until(lambda: SessionEvent.SUSPENDED in a.events)
    lost = [WatchEvent(WatchKind.LOST, "/later"), WatchEvent(WatchKind.LOST, "/")]
    assert a.log[-3:] == [*(("watch", event) for event in lost), ("session", SessionEvent.SUSPENDED)]
    assert e.do(a, Get("/")) is Failure.CONNECTION_LOSS


def test_a_server_begins_with_a_snapshot() -> None:
    e = Ensemble(config=replace(QUICK, metadata_snapshot_bytes=500)).start()
    a = e.open_at(e.leader or "")
    absent = e.followers[0]
    e.sim.power_loss(absent, wipe=True)
    for number in range(100):
        e.must(a, Create("/n-", b"%d" % number, sequential=True))
    e.sim.start(absent)
    leader = e.server(e.leader or "")
    e.until(lambda: absent in e.running and e.server(absent).state.zxid == leader.state.zxid)
    assert e.server(absent).state.snapshot() == leader.state.snapshot()
    assert e.server(absent).raft.log.log_start_offset > 0


def test_a_request_that_is_too_large_breaks_the_connection() -> None:
    e = Ensemble().start()
    a = e.open()
    assert e.do(a, Create("/large", bytes(MAX_REQUEST_BYTES))) is Failure.CONNECTION_LOSS
    e.until(lambda: a.is_connected)
    assert e.do(a, Exists("/large")) is None


def test_a_session_with_the_wrong_password_is_expired() -> None:
    e = Ensemble().start()
    a = e.open()
    thief = e.client("client-1").open(1000, key=a.session.key._replace(password=bytes(16)))
    e.until(lambda: thief.has_expired)
    assert e.do(a, Exists("/")) is not None


@pytest.mark.parametrize("path", ["", "a", "/a/", "//a", "/a/../b", "/a\0"])
def test_a_path_that_cannot_be_one(path: str) -> None:
    with pytest.raises(ValueError, match="must be absolute"):
        Get(path)


def test_what_cannot_be_submitted() -> None:
    e = Ensemble().start()
    a = e.open()
    with pytest.raises(ValueError, match="only Get, Exists and Children set a watch"):
        a.submit(Set("/", b""), watch=True)
    with pytest.raises(ValueError, match="a step of a multi"):
        a.submit(Check("/"))


def test_equal_seeds_make_equal_runs() -> None:
    def digest() -> str:
        e = Ensemble(seed=3).start()
        a = e.open()
        e.must(a, Create("/x", ephemeral=True))
        e.sim.power_loss(e.leader or "")
        e.run_ms(3000)
        return e.sim.digest()

    assert digest() == digest()
