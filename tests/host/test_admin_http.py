"""/metrics, /healthz and /readyz."""

from __future__ import annotations

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from highwater_runtime.host.metrics import HostMetrics, exposition
from highwater_runtime.host.process.admin_http import AdminPages, AdminServer
from highwater_runtime.host.process.process_metrics import process_metrics
from highwater_runtime.ports import Endpoint


async def get(at, head: bytes) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection(*at)
    try:
        writer.write(head)
        answer = await asyncio.wait_for(reader.read(), 30)
    except ConnectionResetError:
        answer = b""
    writer.close()
    if not answer:
        return 0, {}, b""
    status, *lines = answer.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), answer.partition(b"\r\n\r\n")[2]


def serve(story, metrics=b"", unhealthy=None, unready=None):
    async def whole():
        server = AdminServer(AdminPages(lambda: metrics, lambda: unhealthy, lambda: unready))
        try:
            await asyncio.wait_for(story(await server.start(Endpoint("127.0.0.1", 0))), 60)
        finally:
            server.close()

    asyncio.run(whole())


def test_pages():
    async def story(at):
        status, headers, body = await get(at, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (status, body) == (200, b"m 1\n")
        assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert headers["Content-Length"] == "4"
        assert (await get(at, b"GET /healthz HTTP/1.1\r\n\r\n"))[::2] == (200, b"ok\n")
        assert (await get(at, b"GET /readyz?verbose HTTP/1.1\r\n\r\n"))[::2] == (503, b"fenced\n")
        assert (await get(at, b"HEAD /metrics HTTP/1.1\r\n\r\n"))[::2] == (200, b"")
        assert (await get(at, b"GET / HTTP/1.1\r\n\r\n"))[0] == 404
        assert (await get(at, b"POST /metrics HTTP/1.1\r\n\r\n"))[0] == 405

    serve(story, metrics=b"m 1\n", unready="fenced")


def test_hostile_clients_get_nothing_and_cost_nothing():
    async def story(at):
        assert (await get(at, b"x" * 100_000))[0] == 0
        lazy = [await asyncio.open_connection(*at) for _ in range(70)]
        for _ in range(10):
            await asyncio.sleep(0)
        assert (await get(at, b"GET /healthz HTTP/1.1\r\n\r\n"))[0] == 0
        for _, writer in lazy:
            writer.close()
        for _ in range(1000):
            if (await get(at, b"GET /healthz HTTP/1.1\r\n\r\n"))[0] == 200:
                return
        raise AssertionError("connections were not given back")

    serve(story)


def test_names_and_types_are_kept():
    metrics = HostMetrics()
    metrics.counter("kafka_server_replicamanager_isrshrinks_total", 0)
    metrics.counter("requests_total", 3, request="Fetch")
    metrics.counter("requests_total", 1, request="Fetch")
    metrics.gauge("kafka_log_log_size", 5, topic="t", partition="0")
    metrics.gauge("gone", 1)
    metrics.forget("gone")
    metrics.gauge("gone_too", 1, topic='we"ird\n')
    metrics.gauge("kafka_log_log_size", 2.5e16, topic="a\\nb", partition="1")
    metrics.gauge("late", float("nan"))
    assert exposition(metrics), "and what is added between two scrapes is in the second"
    metrics.gauge("early", float("inf"))
    text = exposition(metrics).decode()
    assert "# TYPE kafka_server_replicamanager_isrshrinks_total counter" in text
    assert "\nkafka_server_replicamanager_isrshrinks_total 0.0" in text
    assert text.count("# TYPE kafka_log_log_size gauge") == 1
    assert "gone 1" not in text
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["requests_total", (("request", "Fetch"),)] == 4
    assert samples["gone_too", (("topic", 'we"ird\n'),)] == 1
    assert samples["kafka_log_log_size", (("partition", "1"), ("topic", "a\\nb"))] == 2.5e16
    assert samples["late", ()] != samples["late", ()]
    assert samples["early", ()] == float("inf")
    assert len(samples) == 7
    metrics.forget("gone_too", topic='we"ird\n')
    assert "gone_too" not in exposition(metrics).decode()


def test_the_metrics_of_the_process_are_apart_from_those_of_the_node():
    assert b"process_resident_memory_bytes" in process_metrics()
    assert b"process_" not in exposition(HostMetrics())
