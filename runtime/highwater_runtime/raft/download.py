"""Fetch a snapshot from the leader, piece by piece, to a replica that lags behind the leader's log (KIP-630).

The replica keeps its log until the whole snapshot is checked and on disk. It asks again for a piece that does not come.
In between an observer asks any voter, as with Fetch: if another leads by now, the refusal names it. The replica goes
back to Fetch, whose answer names another snapshot, if the leader no longer has this one, sends something else, sends
more than was asked for, or names a size above the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from highwater_runtime.ports import RpcFailure
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.raft.election import retry_backoff_ns
from highwater_runtime.raft.messages import QuorumResponse
from highwater_runtime.raft.scope import Actions, Scope, Shared
from highwater_runtime.raft.snapshot_messages import (
    FETCH_SNAPSHOT_VERSION,
    SnapshotParams,
    fetch_snapshot,
    snapshot_piece_of,
)
from highwater_runtime.raft.snapshots import SnapshotId
from highwater_runtime.wire.errors import ErrorCode

PIECE_BYTES: Final = 1 << 20
MAX_SNAPSHOT_BYTES: Final = 1 << 30
"""A larger snapshot is not fetched: it is held in memory until it is whole."""


class SnapshotDownload:
    """One snapshot on its way. ``heard`` is called at every piece; ``done`` once, with all bytes, or None in vain.
    ``target``: which voter to ask after so many failures in a row."""

    def __init__(
        self,
        shared: Shared,
        actions: Actions,
        scope: Scope,
        leader_id: int,
        target: Callable[[int], int],
        snapshot_id: SnapshotId,
        heard: Callable[[], None],
        done: Callable[[bytes | None], None],
    ) -> None:
        self._shared = shared
        self._actions = actions
        self._scope = scope
        self._leader_id = leader_id
        self._target = target
        self._snapshot_id = snapshot_id
        self._heard = heard
        self._done = done
        self._data = bytearray()
        self._failures = 0

    def start(self) -> None:
        """Ask for what comes next."""
        params = SnapshotParams(
            self._shared.node_id, self._shared.quorum.epoch, self._snapshot_id, len(self._data), PIECE_BYTES
        )
        request = fetch_snapshot(self._shared.cluster_id, params)
        asked = self._target(self._failures)

        def answered(response: Any) -> None:
            self._answered(asked, response)

        self._scope.send(asked, request, FETCH_SNAPSHOT_VERSION, answered, channel="raft-fetch")

    def _answered(self, asked: int, response: Any) -> None:
        parts = None if isinstance(response, RpcFailure) else snapshot_piece_of(response)
        if parts is not None and self._actions.learned(parts[0]):
            return
        if parts is None or asked != self._leader_id:
            self._failures += 1
            self._scope.later(retry_backoff_ns(self._failures), self.start)
            return
        answer, piece = parts
        if not self._fits(answer) or piece.position != len(self._data) or not piece.data:
            self._done(None)
            return
        if (
            piece.snapshot_id != self._snapshot_id
            or piece.size > MAX_SNAPSHOT_BYTES
            or len(piece.data) > PIECE_BYTES
            or len(self._data) + len(piece.data) > piece.size
        ):
            self._shared.ports.trace.emit(TransitionTaken(reason="leader-response-refused"))
            self._done(None)
            return
        self._heard()
        self._failures = 0
        self._data += piece.data
        if len(self._data) < piece.size:
            self.start()
        else:
            self._done(bytes(self._data))

    def _fits(self, answer: QuorumResponse) -> bool:
        return answer.error is ErrorCode.NONE and answer.leader_id == self._leader_id
