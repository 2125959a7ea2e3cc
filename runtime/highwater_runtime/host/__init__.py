"""The host on a real machine: cores on an asyncio loop, real sockets, real files.

:class:`HostedNode` hosts one core; ``highwater-node`` (:mod:`.main`) is a process that hosts one broker or controller.
"""

from highwater_runtime.host.files.trace import FileSink, TraceSink
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.net.listeners import Listener, ListenerSecurity, OutboundSecurity
from highwater_runtime.host.node import CoreFactory, Ending, HostedNode, NodeEnd

__all__ = [
    "CoreFactory",
    "Ending",
    "FileSink",
    "HostedNode",
    "Listener",
    "ListenerSecurity",
    "NodeEnd",
    "OutboundSecurity",
    "ServerLimits",
    "TraceSink",
]
