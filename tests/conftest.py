"""What tests of several areas share."""

from __future__ import annotations

import pytest

SHORT_NS = 2_000_000_000


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not come about is not waited for as long as on a busy machine."""
    from highwater_chaos.faults import FaultContext, nodes, restart, session_expiry, stop
    from highwater_chaos.faults.base import Fault

    monkeypatch.setattr(FaultContext.confirm, "__defaults__", (SHORT_NS,))
    monkeypatch.setattr(nodes.seen_down, "__defaults__", (SHORT_NS,))
    for module in (nodes, stop, restart):
        monkeypatch.setattr(module, "SHUTDOWN_NS", 3 * SHORT_NS)
    monkeypatch.setattr(restart, "BACK_NS", SHORT_NS)
    monkeypatch.setattr(session_expiry, "_SLACK_NS", SHORT_NS)
    for kind in (Fault, session_expiry.SessionExpiry):
        monkeypatch.setattr(kind, "healed_within_ns", SHORT_NS)
