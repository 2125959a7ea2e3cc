"""A node's metrics: Kafka's own MBeans, by the names that the JMX exporter's usual rules for Kafka give.

The exporter is a Java agent in the node (``io.prometheus.jmx:jmx_prometheus_javaagent``), which listens inside the pod.
The process of the pod asks it now and then, passes on what it says, and knows by it whether the node does its work.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

from highwater_operator.java_server import NotServingError

RULES: Final = r"""
lowercaseOutputName: true
includeObjectNames:
- kafka.server:type=KafkaServer,name=BrokerState
- kafka.server:type=ReplicaManager,*
- kafka.server:type=ReplicaFetcherManager,*
- kafka.server:type=FetchSessionCache,*
- kafka.server:type=BrokerTopicMetrics,*
- kafka.server:type=raft-metrics
- kafka.server:type=socket-server-metrics,*
- kafka.network:type=RequestMetrics,name=RequestsPerSec,*
- kafka.controller:type=KafkaController,*
- kafka.controller:type=ControllerStats,*
- kafka.cluster:type=Partition,*
- kafka.log:type=Log,*
rules:
- pattern: kafka.(\w+)<type=(.+), name=(.+)PerSec\w*, (.+)=(.+), (.+)=(.+)><>Count
  name: kafka_$1_$2_$3_total
  type: COUNTER
  labels: {"$4": "$5", "$6": "$7"}
- pattern: kafka.(\w+)<type=(.+), name=(.+)PerSec\w*, (.+)=(.+)><>Count
  name: kafka_$1_$2_$3_total
  type: COUNTER
  labels: {"$4": "$5"}
- pattern: kafka.(\w+)<type=(.+), name=(.+)PerSec\w*><>Count
  name: kafka_$1_$2_$3_total
  type: COUNTER
- pattern: kafka.(\w+)<type=(.+), name=(.+), (.+)=(.+), (.+)=(.+)><>Value
  name: kafka_$1_$2_$3
  type: GAUGE
  labels: {"$4": "$5", "$6": "$7"}
- pattern: kafka.(\w+)<type=(.+), name=(.+), (.+)=(.+)><>Value
  name: kafka_$1_$2_$3
  type: GAUGE
  labels: {"$4": "$5"}
- pattern: kafka.(\w+)<type=(.+), name=(.+)><>Value
  name: kafka_$1_$2_$3
  type: GAUGE
- pattern: "kafka.server<type=raft-metrics><>(current-state): (.+)"
  name: kafka_server_raftmetrics_$1
  value: 1
  type: GAUGE
  labels: {"$1": "$2"}
- pattern: "kafka.server<type=raft-metrics><>(.+):"
  name: kafka_server_raftmetrics_$1
  type: GAUGE
- pattern: "kafka.server<type=socket-server-metrics, listener=(.+), networkProcessor=(.+)><>(connection-count):"
  name: kafka_server_socketservermetrics_$3
  type: GAUGE
  labels: {listener: "$1", networkProcessor: "$2"}
"""
"""The JMX exporter's configuration."""
_MOST_BYTES: Final = 16 << 20
_WITHIN_S: Final = 10.0
_BROKER_STATE: Final = re.compile(rb"^kafka_server_kafkaserver_brokerstate (\S+)", re.MULTILINE)
_LEADER: Final = re.compile(rb"^kafka_server_raftmetrics_current_leader (\S+)", re.MULTILINE)
_RUNNING: Final = 3.0


async def metrics_of(port: int) -> bytes:
    """Ask the exporter on this port of the pod.

    Raises:
        NotServingError: it does not answer.
    """
    try:
        async with asyncio.timeout(_WITHIN_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
                await writer.drain()
                answer = b""
                while len(answer) < _MOST_BYTES and (more := await reader.read(1 << 18)):
                    answer += more
            finally:
                writer.close()
    except TimeoutError:
        raise NotServingError(f"the node's metrics do not come within {_WITHIN_S:g} s") from None
    except OSError as error:
        raise NotServingError(f"the node does not answer: {error.strerror or error}") from error
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise NotServingError(f"the node's metrics say {head[:80]!r}")
    return body


def why_unready(role: str, metrics: bytes) -> str | None:
    """Why the node does not do its work in the cluster: a broker that is not yet running, a controller that knows no
    leader. None: it does."""
    if role == "broker":
        state = _BROKER_STATE.search(metrics)
        found = "none" if state is None else state[1].decode("ascii", "replace")
        return None if found == str(_RUNNING) else f"the broker's state is {found}, not {_RUNNING:g} (RUNNING)"
    leader = _LEADER.search(metrics)
    return None if leader is not None and not leader[1].startswith(b"-") else "the quorum has no leader that is known"
