"""Everything a core may touch: time, network, disk, randomness, metrics, trace.

A core never opens a socket or a file, never reads a clock, never sleeps and never uses global state. It reacts to
events (an inbound request, a response, a timer, a disk completion), each of which the host runs to its end before
the next, and it acts only through the :class:`Ports` it is given. That is why the same code runs in the simulator,
in a process and in a pod, and why one seed determines a whole simulated run.

Two duties follow for every core:

* never iterate over a ``set`` (or anything else whose order follows hashes or addresses) where the order can show
  in a message, a timer, a file or the trace: sort first, or use a ``dict``;
* never hold on to the buffer of an inbound message after the handler returned without copying what is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from highwater_runtime.ports.clock import MS, SECOND, Clock, Timer
from highwater_runtime.ports.disk import Disk, DiskFile, DiskJob, FileRange, path_components
from highwater_runtime.ports.metrics import Metrics
from highwater_runtime.ports.network import (
    ApiMessage,
    Endpoint,
    Heartbeat,
    InboundRequest,
    Network,
    RepetitionHandler,
    ResponseHandler,
    RpcFailure,
)
from highwater_runtime.ports.node import ClientCore, NodeCore, NodeHaltError, RefreshesMetrics, TakesRequestsTogether
from highwater_runtime.ports.trace import Trace

__all__ = [
    "MS",
    "SECOND",
    "ApiMessage",
    "ClientCore",
    "Clock",
    "Disk",
    "DiskFile",
    "DiskJob",
    "Endpoint",
    "FileRange",
    "Heartbeat",
    "InboundRequest",
    "Metrics",
    "Network",
    "NodeCore",
    "NodeHaltError",
    "Ports",
    "RefreshesMetrics",
    "RepetitionHandler",
    "ResponseHandler",
    "RpcFailure",
    "TakesRequestsTogether",
    "Timer",
    "Trace",
    "path_components",
]


@dataclass(frozen=True, slots=True)
class Ports:
    """What a host gives to one incarnation of one node.

    ``random`` is seeded by the host from the experiment's seed, the node's name and its incarnation; a core draws
    every random choice (election time-outs, jitter, session ids, uuids) from it.
    """

    clock: Clock
    network: Network
    disk: Disk
    random: Random
    metrics: Metrics
    trace: Trace
