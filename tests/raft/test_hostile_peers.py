"""What a peer sends is checked by errors, not by assertions: the rules hold under ``python -O`` too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from highwater_runtime.log.records import HEADER_SIZE
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.raft import answering, download, leading, messages
from highwater_runtime.raft.download import SnapshotDownload
from highwater_runtime.raft.election import LogEnd
from highwater_runtime.raft.errors import QuorumBrokenError
from highwater_runtime.raft.snapshot_messages import (
    SnapshotParams,
    SnapshotPiece,
    fetch_snapshot,
    snapshot_params_of,
    snapshot_response,
)
from highwater_runtime.raft.snapshots import SnapshotId
from highwater_runtime.wire.errors import ErrorCode

REFUSED: Final = "leader-response-refused"
EPOCH_AT = 12  # of a batch's leader epoch, which its CRC does not cover
Fetched = dict[str, Any]


def number_added(records: bytes, at: int, size: int, more: int) -> bytes:
    changed = int.from_bytes(records[at : at + size]) + more
    return records[:at] + changed.to_bytes(size) + records[at + size :]


def with_records(change: Any) -> Any:
    return lambda answer, said: said | ({"records": change(said["records"])} if said.get("records") else {})


TAMPERED: dict[str, Any] = {
    "a batch beyond the end of the log": with_records(lambda r: number_added(r, 0, 8, 1)),
    "a batch of an epoch to come": with_records(lambda r: number_added(r, EPOCH_AT, 4, 1)),
    "a corrupt batch": with_records(lambda r: r[:HEADER_SIZE] + bytes(b ^ 1 for b in r[HEADER_SIZE:])),
    "bytes that are no batch": with_records(lambda r: bytes(len(r))),
    "a divergence above the end": lambda answer, said: said | {"diverging": LogEnd(answer.epoch, 1 << 40)},
    "a divergence below zero": lambda answer, said: said | {"diverging": LogEnd(answer.epoch, -7)},
    "a snapshot of an epoch to come": lambda answer, said: said | {"snapshot": LogEnd(answer.epoch + 1, 1 << 40)},
    "a snapshot without epoch": lambda answer, said: said | {"snapshot": LogEnd(-1, 1 << 40)},
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_follower_takes_nothing_from_such_a_response(cluster, monkeypatch, what: str) -> None:
    c = cluster(1, 1)
    c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    observer = c.raft("broker-0")
    end, build = observer.log_end_offset, messages.fetched
    refused: list[str] = []
    c.sim.trace.subscribers.append(
        lambda _, node, __, event: refused.append(node) if event == TransitionTaken(reason=REFUSED) else None
    )
    monkeypatch.setattr(leading, "fetched", lambda answer, **said: build(answer, **TAMPERED[what](answer, said)))
    c.append(b"b")
    c.run_ms(600)
    assert (observer.log_end_offset, c.running) == (end, ["controller-0", "broker-0"])
    assert set(refused) == {"broker-0"}, "a leader that cannot be followed is reported"
    monkeypatch.setattr(leading, "fetched", build)
    c.await_everywhere([b"a", b"b"])


def test_a_follower_ignores_records_of_one_that_does_not_lead(cluster, monkeypatch) -> None:
    c = cluster(1, 1)
    c.await_leader()
    c.append(b"a")
    c.await_everywhere([b"a"])
    end, build = c.raft("broker-0").log_end_offset, messages.fetched
    monkeypatch.setattr(leading, "fetched", lambda answer, **said: build(answer._replace(epoch=0), **said))
    c.append(b"b")
    c.run_ms(600)
    assert c.raft("broker-0").log_end_offset == end


def test_a_high_watermark_inside_of_a_batch_halts(cluster, monkeypatch) -> None:
    c = cluster(1, 1)
    c.await_leader()
    build = messages.fetched

    def tampered(answer: Any, **said: Any) -> Any:
        return build(answer, **said | {"high_watermark": said["high_watermark"] - 1})

    c.append(b"a")
    c.await_everywhere([b"a"])
    monkeypatch.setattr(leading, "fetched", tampered)
    monkeypatch.setattr(c.referee, "_judge_committed", lambda node, event: None)  # else the referee stops the run first
    c.append(b"b", b"c")
    with pytest.raises(AssertionError, match="raft-committed-data"):
        c.run_ms(600)
    (crash,) = c.sim.node("broker-0").crashes
    assert isinstance(crash.error, QuorumBrokenError)
    assert "inside of the batch" in str(crash.error)


def test_a_peer_gets_no_larger_piece_of_a_snapshot_than_the_bound() -> None:
    params = SnapshotParams(5, 1, SnapshotId(3, 1), 0, (1 << 31) - 1)
    understood = snapshot_params_of(fetch_snapshot("cluster", params))
    assert understood == params._replace(max_bytes=messages.MAX_FETCH_BYTES)


SNAPSHOT_PIECES: dict[str, Any] = {
    "of another snapshot": lambda piece: piece._replace(snapshot_id=SnapshotId(4, 1)),
    "a size beyond what may be held": lambda piece: piece._replace(size=download.MAX_SNAPSHOT_BYTES + 1),
    "more than was asked for": lambda piece: piece._replace(
        size=download.MAX_SNAPSHOT_BYTES, data=bytes(download.PIECE_BYTES + 1)
    ),
    "more than its size": lambda piece: piece._replace(size=len(piece.data) - 1),
}


@pytest.mark.parametrize("what", SNAPSHOT_PIECES)
def test_a_laggard_holds_no_such_piece_of_a_snapshot(what: str) -> None:
    piece = SnapshotPiece(SnapshotId(3, 1), 0, 10, b"0123456789")
    emitted: list[Any] = []
    done: list[bytes | None] = []
    ports = SimpleNamespace(trace=SimpleNamespace(emit=emitted.append))
    shared: Any = SimpleNamespace(ports=ports)
    actions: Any = SimpleNamespace(learned=lambda answer: False)
    for change, outcome in ((SNAPSHOT_PIECES[what], None), (lambda piece: piece, piece.data)):
        asked: Any = SnapshotDownload(
            shared, actions, Any, 1, lambda failures: 1, piece.snapshot_id, lambda: None, done.append
        )
        answer = messages.QuorumResponse(ErrorCode.NONE, 1, 1)
        asked._answered(1, snapshot_response(answer, change(piece)))
        assert (done.pop(), emitted) == (outcome, [TransitionTaken(reason=REFUSED)])


def test_a_vote_of_another_epoch_does_not_count(cluster, monkeypatch) -> None:
    build = messages.reply

    def tampered(request: Any, answer: Any) -> Any:
        return build(request, answer._replace(epoch=answer.epoch - 1, vote_granted=True))

    monkeypatch.setattr(answering.messages, "reply", tampered)
    c = cluster(3)
    c.run_ms(1500)
    assert c.leader is None


@pytest.mark.thorough
@pytest.mark.skipif(not __debug__, reason="this is the run under -O")
def test_all_of_this_holds_without_assertions() -> None:
    command = [sys.executable, "-O", "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
