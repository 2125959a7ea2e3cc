"""Pods' ``/metrics``, asked for by way of their agents while the run goes on. What a pod answers may be anything.

A pod that does not answer its agent says nothing, as a node that hangs does. If the agent does not answer, nothing is
known of the node: a sample of :data:`NOT_KNOWN` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, Future
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.assertions.unknown import NOT_KNOWN
from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.protocol import MetricRow
from highwater_runtime.ports import MS

_AGENT_AWAY: Final = (0, 429, 503)
_NOT_READABLE: Final = (ValueError, LookupError, ArithmeticError)
"""What the parser raises, or the conversion of what it read."""
_BELIEVED_NS: Final = 4_500 * MS
"""A little less than the time for which a node's last samples are believed."""


class MetricPolls:
    """At most one request a node is under way. ``threads``: on which agents are asked."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._asked: dict[str, tuple[int, PodPlace, Future[str]]] = {}
        self._unanswered: dict[str, int] = {}
        """Nodes that run, and since when their agents have not answered."""

    def ask(self, nodes: Mapping[str, tuple[int, PodPlace]], now_ns: int) -> None:
        """Ask the nodes that run (by name: incarnation and place), except those that have yet to answer."""
        self._unanswered = {node: self._unanswered.get(node, now_ns) for node in nodes}
        for node, (incarnation, place) in nodes.items():
            if node not in self._asked:
                asked = self._threads.submit(place.agent.metrics, place.namespace, place.name)
                self._asked[node] = (incarnation, place, asked)

    def answered(self, now_ns: int) -> list[MetricRow]:
        """What has come since the last time. Nodes that did not answer, or with something else, have no samples."""
        rows: list[MetricRow] = []
        for node, (incarnation, place, future) in list(self._asked.items()):
            if not future.done():
                continue
            del self._asked[node]
            try:
                rows += _rows(now_ns, node, incarnation, future.result(), place)
            except AgentError as error:
                if error.status in _AGENT_AWAY:
                    continue
            except _NOT_READABLE:
                pass  # of a pod that has answered
            self._unanswered.pop(node, None)
        rows += [
            MetricRow(now_ns, node, 0, NOT_KNOWN, {}, 1.0)
            for node, since in self._unanswered.items()
            if now_ns - since > _BELIEVED_NS
        ]
        return rows


def _rows(now_ns: int, node: str, incarnation: int, text: str, place: PodPlace) -> list[MetricRow]:
    """Samples with the labels that the PodMonitor gives them: the same question finds them in a Prometheus."""
    cluster = place.name.removesuffix(f"-{node}")
    scraped = {
        "namespace": place.namespace,
        "kubernetes_pod_name": place.name,
        "strimzi_io_cluster": cluster,
        "strimzi_io_name": f"{cluster}-{node.rpartition('-')[0]}",
    }
    return [
        MetricRow(now_ns, node, incarnation, sample.name, {**sample.labels, **scraped}, float(sample.value))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
