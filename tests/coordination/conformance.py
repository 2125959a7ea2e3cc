"""Programs of several sessions, and two places that run them: a real ZooKeeper server, and the simulated ensemble."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import psutil
from ensemble import Ensemble, Told
from hypothesis import strategies as st
from msgspec.structs import replace

from highwater_runtime.host.zookeeper import KazooCoordination
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.coordination import (
    Check,
    Children,
    Create,
    Created,
    Data,
    Delete,
    Exists,
    Get,
    Listing,
    Multi,
    Operation,
    SessionEvent,
    SessionKey,
    Set,
    Stat,
    WatchEvent,
    WatchKind,
)

JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar"
SESSIONS = 3

# --- programs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Do:
    """Session ``slot`` submits the operations at once, each with a watch or without. Paths are below a root."""

    slot: int
    operations: tuple[tuple[Operation[Any], bool], ...]


@dataclass(frozen=True)
class Close:
    slot: int


@dataclass(frozen=True)
class Expire:
    slot: int


Program = list[Do | Close | Expire]

_paths = st.sampled_from(["/a", "/a", "/a", "/b", "/a/x", "/a/y", "/b/x", "/a/s-0000000000", "/b/0000000001", "/c/d"])
_versions = st.sampled_from([-1, -1, -1, 0, 1, 2])
_data = st.binary(max_size=2)
_writes = st.one_of(
    st.builds(Create, _paths, _data, st.sampled_from([False, False, True])),
    st.builds(Create, st.sampled_from(["/a/s-", "/b/", "/s"]), _data, st.booleans(), st.just(value=True)),
    st.builds(Set, _paths, _data, _versions),
    st.builds(Delete, _paths, _versions),
)
_multis = st.lists(_writes | st.builds(Check, _paths, _versions), max_size=4).map(lambda s: Multi(steps=tuple(s)))
_reads = st.builds(lambda kind, path: kind(path), st.sampled_from([Get, Exists, Children]), _paths | st.just("/"))
_operations = st.one_of(
    st.tuples(_writes, st.just(value=False)),
    st.tuples(_reads, st.booleans()),
    st.tuples(_writes, st.just(value=False)),
    st.tuples(_reads, st.just(value=True)),
    st.tuples(_multis, st.just(value=False)),
)
_slots = st.integers(0, SESSIONS - 1)
_does = st.builds(Do, _slots, st.lists(_operations, min_size=2, max_size=8).map(tuple))


def programs() -> st.SearchStrategy[Program]:
    """Mostly operations; sessions that are closed or expire now and then."""
    ends = st.builds(Close, _slots) | st.builds(Expire, _slots)
    return st.lists(st.one_of(*[_does] * 9, ends), min_size=8, max_size=20)


def _plain(slot: int, *operations: Operation[Any]) -> Do:
    return Do(slot, tuple((one, False) for one in operations))


def _watching(slot: int, *operations: Operation[Any]) -> Do:
    return Do(slot, tuple((one, isinstance(one, Get | Exists | Children)) for one in operations))


_next = Create("/a/s-", b"", False, True)
_next_ephemeral = Create("/a/s-", b"", True, True)

COVERING: Program = [
    _watching(1, Children("/a"), Get("/a/x"), Exists("/a/x"), Children("/a/x")),
    _watching(2, Children("/a/x")),
    _plain(0, Delete("/a/x")),
    _watching(1, Children("/a"), Exists("/a/x"), Get("/a/x")),
    _plain(0, Create("/a/x", b"1", True), Create("/a/x"), Create("/a/x/y"), Create("/nowhere/y")),
    _watching(1, Children("/a"), Get("/a/x"), Get("/b")),
    _plain(0, Set("/b", b"1", 0), Set("/b", b"2", 0), Set("/b", b"3"), Delete("/b", 7), Delete("/a")),
    _plain(0, _next, _next, Delete("/a/s-0000000002"), _next, Children("/a")),
    _plain(0, Multi(steps=(Create("/c"), _next, Set("/b", b"4"), Delete("/a")))),
    _plain(0, Get("/b"), Exists("/c"), Multi(steps=(Check("/b", 2), _next_ephemeral, Set("/b", b"5"), Delete("/b")))),
    _watching(2, Get("/a"), Children("/a"), Set("/a", b"6"), Get("/a"), Set("/a", b"7"), _next, Get("/a")),
    _watching(1, Get("/a"), Children("/a"), Exists("/a/x"), Exists("/b")),
    Expire(0),
    _plain(2, Children("/a"), _next, Multi()),
    Close(2),
]
"""Every kind of operation, failure, watch and end of a session once: no broken rule hides behind chance."""


def below(root: str, operation: Any) -> Any:
    """The operation with its paths below ``root``."""
    if isinstance(operation, Multi):
        return Multi(steps=tuple(below(root, step) for step in operation.steps))
    return replace(operation, path=root + operation.path if operation.path != "/" else root)


# --- running one -----------------------------------------------------------------------------------------------------


class Place(Protocol):
    """Where a program runs."""

    def open(self, key: SessionKey | None = None) -> Told: ...

    def until(self, predicate: Callable[[], bool]) -> None: ...

    def settle(self) -> None:
        """Until every server has applied all that was committed."""


class Run:
    """One run of a program: what every session was told in each step."""

    def __init__(self, place: Place, root: str) -> None:
        self._place = place
        self._root = root
        self.operations = 0
        self.told: list[list[list[Any]]] = []
        self._slots: list[Told | None] = [None] * SESSIONS
        self._everybody: list[Told] = []
        self._seen: list[int] = []
        self._base = self._open()
        for path in ("", "/a", "/a/x", "/b"):
            self._do(self._base, Create(root + path))

    def run(self, program: Program) -> list[list[list[Any]]]:
        """Run it; returns what each session (in the order of their beginning) was told in each step."""
        for step in program:
            told = self._slots[step.slot] or self._open()
            self._slots[step.slot] = told
            match step:
                case Do(operations=operations):
                    results = [told.submit(below(self._root, one), watch=watch) for one, watch in operations]
                    self.operations += len(operations)
                    self._place.until(lambda results=results: all(results))  # type: ignore[misc]
                case Close(slot=slot):
                    self._close(told)
                    self._slots[slot] = None
                case Expire(slot=slot):
                    self._expire(told)
                    assert self._do(told, Get(self._root)) is not None
                    self._slots[slot] = None
            self._flush()
        for told in (*self._slots, self._base):
            if told is not None:
                self._close(told)
        return self.told

    def _open(self) -> Told:
        told = self._place.open()
        self._everybody.append(told)
        self._seen.append(0)
        return told

    def _do(self, told: Told, operation: Operation[Any]) -> list[Any]:
        results = told.submit(operation)
        self._place.until(lambda: bool(results))
        return results

    def _close(self, told: Told) -> None:
        closed: list[bool] = []
        told.session.close(lambda: closed.append(True))
        self._place.until(lambda: bool(closed))

    def _expire(self, told: Told) -> None:
        """Another client takes the session over and closes it, so that the first one finds it expired.

        On a busy machine the first one takes it back before it is closed. Then another client is sent again; that the
        first one was there meanwhile is chance, and left out of what it was told. Whether it still hears that its own
        ephemeral nodes went is chance too, where it has another server than the client that takes over: such an event
        counts as a watch that was lost.
        """
        assert told.session.key is not None
        back, began = ("session", SessionEvent.CONNECTED), len(told.log)
        while not told.has_expired:
            before = told.log.count(back)
            self._close(self._place.open(told.session.key))
            self._place.until(lambda before=before: told.has_expired or told.log.count(back) > before)  # type: ignore[misc]
        for index in reversed(range(began, len(told.log))):
            if told.log[index] == back:
                assert told.log[index + 1] == ("session", SessionEvent.SUSPENDED)
                del told.log[index : index + 2]
        told.log[began:] = [
            (kind, replace(value, kind=WatchKind.LOST) if kind == "watch" else value)
            for kind, value in told.log[began:]
        ]

    def _flush(self) -> None:
        """A read of every living session: what it was to be told of this step comes before that."""
        self._place.settle()
        for told in (*self._slots, self._base):
            if told is not None:
                self._do(told, Exists(self._root))
        self.told.append([told.log[seen:] for told, seen in zip(self._everybody, self._seen, strict=True)])
        self._seen = [len(told.log) for told in self._everybody]

    def transcript(self) -> list[list[list[str]]]:
        """What was told, with the numbers that differ from place to place put in their order: zxids and sessions."""
        zxids = sorted({zxid for entry in self._entries() for zxid in _zxids_in(entry)})
        keys = [told.session.key for told in self._everybody]
        names = {0: 0} | {key.id: index + 1 for index, key in enumerate(keys) if key is not None}
        shown = _Shown(self._root, {zxid: rank for rank, zxid in enumerate(zxids)}, names)
        return [[shown.of(log) for log in step] for step in self.told]

    def _entries(self) -> Iterator[Any]:
        for step in self.told:
            for log in step:
                yield from log


def _stats_in(value: Any) -> list[Stat]:
    match value:
        case Stat():
            return [value]
        case Created() | Data() | Listing():
            return [value.stat]
        case tuple():
            return [stat for one in value for stat in _stats_in(one)]
        case _:
            return []


def _zxids_in(entry: tuple[str, Any]) -> list[int]:
    return [zxid for stat in _stats_in(entry[1]) for zxid in (stat.czxid, stat.mzxid, stat.pzxid)]


@dataclass
class _Shown:
    root: str
    ranks: dict[int, int]
    sessions: dict[int, int]

    def of(self, log: list[tuple[str, Any]]) -> list[str]:
        """The entries; watch events in a row, which a transaction may bring in any order, are sorted."""
        lines = []
        for kind, entries in groupby(log, key=lambda entry: entry[0]):
            shown = [self._show(value) for _, value in entries]
            lines += sorted(shown) if kind == "watch" else shown
        return lines

    def _show(self, value: Any) -> str:
        match value:
            case Stat():
                value = replace(
                    value,
                    czxid=self.ranks[value.czxid],
                    mzxid=self.ranks[value.mzxid],
                    pzxid=self.ranks[value.pzxid],
                    ephemeral_owner=self.sessions[value.ephemeral_owner],
                )
            case Created() | Data() | Listing():
                return f"{replace(value, stat=_NO_STAT)!r} {self._show(value.stat)}".replace(self.root, "")
            case tuple():
                return f"({', '.join(self._show(one) for one in value)})"
            case WatchEvent():
                return f"{value.kind.name} {value.path}".replace(self.root, "")
        return repr(value).replace(self.root, "")


_NO_STAT = Stat(0, 0, 0, 0, 0, 0, 0)

# --- the two places --------------------------------------------------------------------------------------------------


class SimulatedPlace:
    """An ensemble of three servers in the simulator."""

    def __init__(self) -> None:
        self._ensemble = Ensemble(seed=7, clients=1).start()

    def open(self, key: SessionKey | None = None) -> Told:
        return self._ensemble.open(timeout_ms=4000, key=key)

    def until(self, predicate: Callable[[], bool]) -> None:
        self._ensemble.until(predicate)

    def settle(self) -> None:
        servers = [self._ensemble.server(name) for name in self._ensemble.servers]
        self.until(lambda: len({one.state.zxid for one in servers} | {one.raft.log_end_offset for one in servers}) == 1)


class RealPlace:
    """One real server at ``port``. The node is no more than an event loop."""

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._news = asyncio.Event()
        self._coordination = KazooCoordination([Endpoint("127.0.0.1", port)], self._loop, self._run)
        self._error: Exception | None = None

    def _run(self, event: Callable[[], object]) -> None:
        try:
            event()
        except Exception as error:
            self._error = error
        self._news.set()

    def open(self, key: SessionKey | None = None) -> Told:
        told = Told()
        # As long as the server grants (20 ticks): no session may end because the machine is busy.
        told.session = self._coordination.open(40_000, told.on_event, key=key)
        self.until(lambda: told.is_connected or told.has_expired)
        return told

    def until(self, predicate: Callable[[], bool]) -> None:
        # A client takes 27 s of its 40 s session to see that a server is gone, and a busy machine longer.
        self._loop.run_until_complete(asyncio.wait_for(self._until(predicate), timeout=180))

    async def _until(self, predicate: Callable[[], bool]) -> None:
        while not predicate():
            self._news.clear()
            await self._news.wait()
            if self._error is not None:
                raise self._error

    def settle(self) -> None:
        """There is one server, which answers when it has applied."""

    def close(self) -> None:
        self._loop.close()


@contextmanager
def real_server(directory: Path, port: int = 0) -> Iterator[int]:
    """A ZooKeeper server with its data in ``directory``, killed at the end; yields its port."""
    options = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dzookeeper.admin.enableServer=false"]
    server = subprocess.Popen(
        [
            *("java", *options, "-Dzookeeper.forceSync=no", "-Dzookeeper.jmx.log4j.disable=true", "-cp", JARS),
            *("org.apache.zookeeper.server.ZooKeeperServerMain", str(port), str(directory), "2000"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield _port_of(psutil.Process(server.pid))
    finally:
        server.kill()
        server.wait()


def _port_of(process: psutil.Process) -> int:
    """The only port it listens on, as soon as it does."""
    while process.status() != psutil.STATUS_ZOMBIE:
        for connection in process.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN:
                return int(connection.laddr.port)
        time.sleep(0.05)
    raise AssertionError("the ZooKeeper server has ended")
