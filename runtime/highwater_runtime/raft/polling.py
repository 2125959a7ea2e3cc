"""Ask the other voters for a vote or a pre-vote, each until it responds or the role ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from highwater_runtime.ports import RpcFailure
from highwater_runtime.raft.election import retry_backoff_ns
from highwater_runtime.raft.messages import Ballot, vote
from highwater_runtime.raft.scope import Scope, Shared
from highwater_runtime.wire.messages.vote_response import VoteResponse


def poll_voters(
    shared: Shared, scope: Scope, ballot: Ballot, version: int, on_response: Callable[[int, VoteResponse], None]
) -> None:
    """Send ``ballot`` to all other voters. ``on_response`` gets each response. Failed requests are sent again."""

    def ask(voter: int, failures: int) -> None:
        def answered(response: Any) -> None:
            if isinstance(response, RpcFailure):
                scope.later(retry_backoff_ns(failures + 1), lambda: ask(voter, failures + 1))
            else:
                on_response(voter, response)

        scope.send(voter, vote(shared.cluster_id, voter, ballot), version, answered, channel="raft")

    for voter in shared.quorum.others:
        ask(voter, failures=0)
