"""A real Prometheus on loopback, given samples as a remote writer gives them: staleness markers included."""

from __future__ import annotations

import json
import math
import shutil
import signal
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import cramjam
import pytest

from highwater_chaos.promql.language import Labels
from highwater_chaos.promql.series import Series

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]


class PrometheusServer:
    """A server process. ``lookback`` as its flag takes it; ``config`` is its configuration file's text."""

    def __init__(self, folder: Path, lookback: str = "5m", config: str = "") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        (folder / "prometheus.yml").write_text(config)
        self._log = (folder / "prometheus.log").open("wb")
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--web.enable-remote-write-receiver",
                f"--query.lookback-delta={lookback}",
                "--log.level=warn",
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + 60
        while not self._ready():
            assert self.process.poll() is None, (folder / "prometheus.log").read_text()
            assert time.monotonic() < deadline, "Prometheus was not ready within a minute"
            time.sleep(0.1)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def write(self, series: Iterable[Series]) -> None:
        """Hand samples over as a remote writer does."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/write",
            data=bytes(cramjam.snappy.compress_raw(b"".join(_field(1, _time_series(one)) for one in series))),
            headers={"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status in (200, 204)

    def query(self, promql: str, time_ms: int) -> float | dict[Labels, float] | str:
        """What an instant query comes to: a number, the elements of a vector, or the text of an error."""
        query = urllib.parse.urlencode({"query": promql, "time": f"{time_ms / 1000:.3f}"})
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/query?{query}", timeout=30) as answer:
                data = json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            return str(json.load(error)["error"])
        if data["resultType"] == "scalar":
            return float(data["result"][1])
        return {tuple(sorted(one["metric"].items())): float(one["value"][1]) for one in data["result"]}

    def close(self) -> None:
        """End the process."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self._log.close()


def _varint(number: int) -> bytes:
    made = b""
    number &= (1 << 64) - 1
    while number > 0x7F:
        made += bytes([number & 0x7F | 0x80])
        number >>= 7
    return made + bytes([number])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _time_series(series: Series) -> bytes:
    labels = b"".join(_field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in series.labels)
    samples = b"".join(
        _field(2, b"\x09" + struct.pack("<d", STALE if value is None else value) + b"\x10" + _varint(at))
        for at, value in zip(series.times_ms, series.values, strict=True)
    )
    return labels + samples


@pytest.fixture(scope="module")
def start_prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., PrometheusServer]]:
    if shutil.which("prometheus") is None:
        pytest.skip("needs Prometheus itself (Debian's package prometheus; scripts/system-packages installs it)")
    started: list[PrometheusServer] = []

    def start(**options: Any) -> PrometheusServer:
        started.append(PrometheusServer(tmp_path_factory.mktemp("prometheus"), **options))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture(scope="session")
def same() -> Callable[[Any, Any], bool]:
    """Whether two results are equal but for rounding."""

    def close(a: float, b: float) -> bool:
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            return close(a, b)
        return (
            isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
        )

    return same
