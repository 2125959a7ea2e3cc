"""The broker in KRaft mode: metadata from the quorum, registration and heartbeats, ISR proposals by AlterPartition."""

from __future__ import annotations

from highwater_runtime.broker.kraft.broker import KraftBroker

__all__ = ["KraftBroker"]
