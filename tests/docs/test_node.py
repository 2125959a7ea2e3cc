"""docs/node.md names exactly the properties, statuses, paths, metrics and methods that a node has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from highwater_runtime.host.config.file import host_properties, read_settings
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.process import server_metrics
from highwater_runtime.host.process.exits import ExitStatus


def bare(names: Any) -> list[str]:
    return [re.sub("`", "", name) for name in names]


def test_properties(node: Any) -> None:
    assert sorted(bare(node.table("Properties of the host"))) == host_properties()


def test_defaults_of_limits(node: Any) -> None:
    rows = node.table("Properties of the host")
    limits = ServerLimits()
    for name, value in {
        "socket.request.max.bytes": limits.max_frame_bytes,
        "max.connections": limits.max_connections,
        "max.connections.per.ip": limits.max_connections_per_ip,
        "queued.max.request.bytes": limits.max_queued_bytes,
        "connections.max.idle.ms": limits.max_idle_ms,
        "highwater.max.in.flight.requests.per.connection": limits.max_queued_requests,
        "highwater.connection.write.buffer.bytes": limits.write_buffer_bytes,
    }.items():
        assert rows[f"`{name}`"][0] == str(value), name


def test_the_minimum_is_enough(node: Any, tmp_path: Path) -> None:
    (text,) = node.blocks("properties")
    path = tmp_path / "broker-0.properties"
    path.write_text(text)
    settings = read_settings(path)
    assert (settings.role, settings.node_id, len(settings.voters)) == ("broker", 0, 3)


def test_exit_statuses(node: Any) -> None:
    assert [int(row) for row in node.table("Signals and exit status")] == [int(status) for status in ExitStatus]


def test_paths_and_metrics(node: Any) -> None:
    paths, metrics = node.tables("Metrics and probes")
    assert bare(row[0] for row in paths[1:]) == ["/metrics", "/healthz", "/readyz", "/quorum"]
    known = {value for name, value in vars(server_metrics).items() if name.isupper()}
    assert set(bare(row[0] for row in metrics[1:])) == known


def test_methods_of_the_control_socket(node: Any, root: Path) -> None:
    source = (root / "runtime" / "highwater_runtime" / "host" / "process" / "control.py").read_text(encoding="utf-8")
    known = re.findall(r'^            "(\w+)": ', source, flags=re.M)
    assert bare(node.table("For the harness")) == known
