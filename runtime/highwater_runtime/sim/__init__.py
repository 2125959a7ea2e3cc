"""The simulator: every core in one thread, in virtual time, on disks that forget.

Start at :class:`Simulator`; :class:`SimDisk` is useful on its own in tests of whatever keeps files.
"""

from __future__ import annotations

from highwater_runtime.seeds import derive_random, derive_seed
from highwater_runtime.sim.clock import EPOCH_MS
from highwater_runtime.sim.disk import DiskTiming, PowerCutError, PowerLossEvidence, SimDisk
from highwater_runtime.sim.faults import NetworkFaults
from highwater_runtime.sim.garbage import freeze_collector, frozen_collector
from highwater_runtime.sim.metrics import MetricSample, SimMetrics
from highwater_runtime.sim.network import NetworkTiming
from highwater_runtime.sim.node import NodeCrash, SimNode
from highwater_runtime.sim.rules import Cut, RpcRule, SlowLink
from highwater_runtime.sim.simulator import SimulationError, Simulator
from highwater_runtime.sim.standstill import LivelockError
from highwater_runtime.sim.trace import SimTrace

__all__ = [
    "EPOCH_MS",
    "Cut",
    "DiskTiming",
    "LivelockError",
    "MetricSample",
    "NetworkFaults",
    "NetworkTiming",
    "NodeCrash",
    "PowerCutError",
    "PowerLossEvidence",
    "RpcRule",
    "SimDisk",
    "SimMetrics",
    "SimNode",
    "SimTrace",
    "SimulationError",
    "Simulator",
    "SlowLink",
    "derive_random",
    "derive_seed",
    "freeze_collector",
    "frozen_collector",
]
