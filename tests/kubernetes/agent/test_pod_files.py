"""An answer that is sent while it is read: what its caller sees where the file does not hold what was promised."""

from __future__ import annotations

import asyncio
import os
import shutil
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from highwater_operator.agent import pod_files
from highwater_operator.agent.admission import Admission
from highwater_operator.agent.http_api import Api
from highwater_operator.agent.kept_events import MOST, KeptEvents
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.settings import Settings

TOKEN = "a-token-that-nobody-guesses"
MIB = 1 << 20


class OnePod:
    """All that the agent's HTTP side asks of pods for their events."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod

    def known(self) -> list[Pod]:
        return [self._pod]

    def read(self, namespace: str, name: str) -> Pod | None:
        raise AssertionError(f"{namespace}/{name} is known")


class OfACluster:
    """Every StatefulSet is of a LogCluster."""

    def opted_in(self, namespace: str) -> None:
        del namespace

    def owner_of(self, *_: str) -> tuple[str, int]:
        return "a-uid", 3

    def uids(self, namespace: str) -> frozenset[str]:
        del namespace
        return frozenset({"a-uid"})

    def stateful_sets(self, namespace: str) -> dict[str, list[str]]:
        del namespace
        return {"a-uid": ["demo-broker/a-uid"]}


@pytest.fixture
def pod() -> Pod:
    return Pod("ns", "demo-broker-0", str(uuid.uuid4()), "node-1", stateful_set=("demo-broker", "a-uid"))


@pytest.fixture
def events(pod: Pod, tmp_path: Path) -> Path:
    folder = tmp_path / "pods" / pod.uid / "volumes" / "kubernetes.io~empty-dir" / "events"
    folder.mkdir(parents=True)
    return folder / "events.jsonl"


def ask(pod: Pod, kubelet: Path, query: str = "", status: int = 200, kept: KeptEvents | None = None) -> bytes:
    """For the events, by HTTP."""
    token = kubelet / "token"
    token.write_text(TOKEN)
    unasked: Any = None
    api = Api(
        Settings("node-1", token, Path("/none"), Path("/none"), kubelet=kubelet),
        unasked,
        Admission("node-1", OnePod(pod), OfACluster(), OfACluster()),
        unasked,
        unasked,
        lambda: None,
        kept or KeptEvents(kubelet, lambda pod: pod),
    )

    def call(port: int) -> bytes:
        with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            path = f"/v1/pods/ns/{pod.name}/events{query}"
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            assert answer.status == status
            return answer.read()

    async def serve() -> bytes:
        runner = web.AppRunner(api.application())
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            return await asyncio.to_thread(call, runner.addresses[0][1])
        finally:
            await runner.cleanup()

    return asyncio.run(serve())


def test_a_file_that_is_cut_short_meanwhile(pod: Pod, events: Path, tmp_path: Path) -> None:
    events.write_bytes(b"x" * 1000)
    with closing(pod_files.events(pod, tmp_path, 100)) as piece:
        assert (piece.length, piece.size, piece.read(0)) == (900, 1000, b"x" * 900)
        events.write_bytes(b"")
        assert piece.read(500) == b""
    with closing(pod_files.events(pod, tmp_path, 100)) as piece:
        assert (piece.length, piece.read(0)) == (0, b"")


def test_an_answer_that_is_not_whole_is_seen_to_be_none(
    pod: Pod, events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events.write_bytes(b"x" * 4 * MIB)
    assert ask(pod, tmp_path) == b"x" * 4 * MIB
    read: Callable[[pod_files.Piece, int], bytes] = pod_files.Piece.read

    def cut(piece: pod_files.Piece, done: int) -> bytes:
        if done >= MIB:
            os.truncate(events, 1000)
        return read(piece, done)

    monkeypatch.setattr(pod_files.Piece, "read", cut)
    with pytest.raises(IncompleteRead):
        ask(pod, tmp_path)


def test_a_pod_that_took_the_place_of_another_does_not_answer_for_it(pod: Pod, events: Path, tmp_path: Path) -> None:
    """Its file is another one: from the byte where the first one's was read to, some of it would be missing."""
    events.write_bytes(b"x" * 1000)
    assert ask(pod, tmp_path, f"?offset=900&uid={pod.uid}") == b"x" * 100
    assert b"has been replaced" in ask(pod, tmp_path, f"?offset=900&uid={uuid.uuid4()}", 409)


def test_the_oldest_events_of_a_file_that_grows_are_given_up(pod: Pod, events: Path, tmp_path: Path) -> None:
    """Where they were is known, so that nobody takes what follows for what was to be read."""
    events.write_bytes(b"x" * MIB)
    pod_files.bound_events(pod, tmp_path, MIB)
    assert ask(pod, tmp_path) == b"x" * MIB
    events.write_bytes(b"x" * 3 * MIB + b"y" * MIB)
    pod_files.bound_events(pod, tmp_path, MIB)
    assert (events.stat().st_size, events.stat().st_blocks * 512 < 3 * MIB) == (4 * MIB, True)
    gone = ask(pod, tmp_path, "?offset=9", 410)
    assert f"byte {3 * MIB} or later".encode() in gone
    assert b"delete the pod" in gone
    assert ask(pod, tmp_path, f"?offset={3 * MIB}") == b"y" * MIB
    with events.open("ab") as file:
        file.write(b"z")
    assert ask(pod, tmp_path, f"?offset={4 * MIB}") == b"z"


# --- pods that are deleted --------------------------------------------------------------------------------------------


def test_what_a_pod_wrote_last_is_there_when_its_successor_is(pod: Pod, events: Path, tmp_path: Path) -> None:
    """The kubelet has removed its files, and another pod has its name."""
    events.write_bytes(b"first\n")
    kept = KeptEvents(tmp_path, lambda pod: pod)
    kept.look_at(pod)
    assert kept.pod("ns", pod.name, pod.uid) is None, "it is not to be deleted yet"
    kept.look_at(replace(pod, deleting=True))
    with events.open("ab") as file:
        file.write(b"last\n")
    shutil.rmtree(events.parent)
    successor = replace(pod, uid=str(uuid.uuid4()))
    assert ask(successor, tmp_path, f"?uid={pod.uid}&offset=6", kept=kept) == b"last\n"
    assert ask(successor, tmp_path, f"?uid={pod.uid}&offset=11", kept=kept) == b""
    assert b"has been replaced since" in ask(successor, tmp_path, f"?uid={uuid.uuid4()}", 409, kept=kept)
    kept.close()
    assert b"has been replaced since" in ask(successor, tmp_path, f"?uid={pod.uid}", 409, kept=kept)


def test_no_file_is_kept_for_ever_of_a_stranger_or_through_a_link(pod: Pod, events: Path, tmp_path: Path) -> None:
    def refused(_: Pod) -> Pod:
        raise RefusalError(403, "of no LogCluster", expected="one", found="none")

    events.write_bytes(b"x")
    going = replace(pod, deleting=True)
    strangers = KeptEvents(tmp_path, refused)
    strangers.look_at(going)
    assert strangers.read(going, 0) is None
    old = KeptEvents(tmp_path, lambda pod: pod, kept_s=0.0)
    old.look_at(going)
    assert old.pod("ns", pod.name, pod.uid) is None
    many = KeptEvents(tmp_path, lambda pod: pod)
    many.look_at(going)
    for _ in range(MOST):
        other = replace(going, uid=str(uuid.uuid4()))
        shutil.copytree(tmp_path / "pods" / pod.uid, tmp_path / "pods" / other.uid)
        many.look_at(other)
    assert many.pod("ns", pod.name, pod.uid) is None, "the oldest is closed"
    assert many.pod("ns", pod.name, other.uid) is not None
    many.close()
    events.unlink()
    events.symlink_to("/etc/hostname")
    linked = KeptEvents(tmp_path, lambda pod: pod)
    linked.look_at(going)
    assert linked.pod("ns", pod.name, pod.uid) is None
