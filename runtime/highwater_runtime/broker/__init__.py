"""The broker: leads and follows partitions, serves clients, does what its cluster decides.

Start reading at :mod:`highwater_runtime.broker.broker` (how the parts hang together), then
:mod:`highwater_runtime.broker.mode` (what depends on the mode of the cluster),
:mod:`highwater_runtime.broker.isr` and :mod:`highwater_runtime.broker.partition` (the protocol).
"""

from __future__ import annotations

from highwater_runtime.broker.broker import Broker
from highwater_runtime.broker.kraft import KraftBroker
from highwater_runtime.broker.options import BrokerOptions
from highwater_runtime.broker.partition import Partition

__all__ = ["Broker", "BrokerOptions", "KraftBroker", "Partition"]
