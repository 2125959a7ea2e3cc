"""Pods' ``/metrics``, asked for by way of their agents while the run goes on. What a pod answers may be anything."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.backends.kubernetes.agents import AgentError
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.protocol import MetricRow


_NOT_READABLE: Final = (ValueError, LookupError, ArithmeticError)
"""What the parser raises, or the conversion of what it read."""


class MetricPolls:
    """At most one request a node is under way. ``threads``: on which agents are asked."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._asked: dict[str, tuple[int, PodPlace, Future[str]]] = {}

    def ask(self, node: str, incarnation: int, place: PodPlace) -> None:
        """Ask a node that runs, unless it has yet to answer."""
        if node not in self._asked:
            asked = self._threads.submit(place.agent.metrics, place.namespace, place.name)
            self._asked[node] = (incarnation, place, asked)

    def answered(self, now_ns: int) -> list[MetricRow]:
        """What has come since the last time. Nodes that did not answer, or with something else, have no samples."""
        rows: list[MetricRow] = []
        for node, (incarnation, place, future) in list(self._asked.items()):
            if future.done():
                del self._asked[node]
                with suppress(AgentError, *_NOT_READABLE):
                    rows += _rows(now_ns, node, incarnation, future.result(), place)
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
