"""The broker: leads and follows partitions, serves clients, takes its orders from the metadata log.

Start reading at :mod:`highwater_runtime.broker.broker` (how the parts hang together), then
:mod:`highwater_runtime.broker.isr` and :mod:`highwater_runtime.broker.partition` (the protocol).
"""

from __future__ import annotations

from highwater_runtime.broker.broker import Broker, BrokerOptions
from highwater_runtime.broker.partition import Partition

__all__ = ["Broker", "BrokerOptions", "Partition"]
