"""An agent at its HTTP boundary: keeps records as the real one does, and lets a test decide what acting means."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme

from highwater_chaos.backends.kubernetes.agent_trust import SERVER_NAME, Trust
from highwater_chaos.machine.errors import MachineError

TOKEN = "a token that is long enough"
Json = dict[str, Any]
_AUTHORITY = trustme.CA()
TRUST = Trust(_AUTHORITY.cert_pem.bytes().decode())
_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
_AUTHORITY.issue_cert(SERVER_NAME).configure_cert(_context)


class _Server(ThreadingHTTPServer):
    """As the agent: TLS, each handshake where its request is served, and connections that are kept."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.connections: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        plain, address = super().get_request()
        secured = _context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        self.connections.add(secured)
        return secured, address

    def close_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().close_request(request)

    def handle_error(self, *_: Any) -> None:
        """Callers may be tired of waiting."""


def evidence(saw: str, phase: str = "inject", confirmed: bool = True, **details: Any) -> Json:
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"saw": saw, "confirmed": confirmed, "phase": phase, "at": at, "details": details}


class FakeAgent:
    """``with FakeAgent() as agent:``. ``inject`` and ``heal`` act on a fault's record and return evidence; what
    ``answers`` returns for a pod's events, dump and metrics is served."""

    def __init__(self) -> None:
        self.records: dict[str, Json] = {}
        self.injected: list[str] = []
        self.undone: list[str] = []
        self.refused: list[str] = []
        self.silent = False
        self.answering = threading.Event()
        """Cleared: connections are accepted, and never answered."""
        self.answering.set()
        self.inject: Callable[[str, Json], list[Json]] = lambda fault, body: [evidence(f"{body['kind']} is there")]
        self.heal: Callable[[str, Json], list[Json]] = lambda fault, body: [evidence("gone", "heal")]
        self.observe: Callable[[Json], list[Json]] = lambda record: []
        self.asked = threading.local()
        """``uid``: of the pod that the request being answered names."""
        self.answers: Callable[[str, str, int], bytes | None] = lambda pod, what, offset: None
        self.processes: Callable[[str], list[str]] = lambda pod: ["running"]
        self.reaches: Callable[[str, str], bool] = lambda pod, peer: True
        self.boot_id, self.reset_refused = "this one", "node does not allow it"
        """Of its machine."""
        self._busy = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        agent = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # an answer is one write

            def do_GET(self) -> None:
                self._serve("GET")

            def do_PUT(self) -> None:
                self._serve("PUT")

            def do_DELETE(self) -> None:
                self._serve("DELETE")

            def _serve(self, method: str) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                agent.answering.wait()
                if agent.silent:
                    status, body = 503, b'{"error": "silent"}'
                elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    status, body = 401, b'{"error": "no token"}'
                else:
                    try:
                        status, body = agent.serve(method, self.path, content)
                    except MachineError as error:
                        status, body = 500, json.dumps({"error": str(error)}).encode()
                with contextlib.suppress(ConnectionError):  # whoever asked may be tired of waiting
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> FakeAgent:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Its process is gone: nobody listens any more. Idempotent."""
        self.answering.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in [*self._server.connections]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def manifest(self, node: str, namespace: str = "highwater-system") -> Json:
        """Its pod, which is on ``node``."""
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"highwater-agent-{node}",
                "namespace": namespace,
                "labels": {"app.kubernetes.io/name": "highwater", "app.kubernetes.io/component": "agent"},
                "annotations": {"highwater.dev/agent-port": str(self.port)},
            },
            "spec": {"nodeName": node, "containers": [{"name": "agent", "image": "highwater/agent:test"}]},
        }

    def in_force(self) -> list[str]:
        return [one["id"] for one in self.records.values() if one["state"] == "inForce"]

    def serve(self, method: str, path: str, content: bytes) -> tuple[int, bytes]:
        where, _, query = path.partition("?")
        parts = where.strip("/").split("/")
        if parts == ["healthz"]:
            return 200, b"{}"
        if parts[1] == "clock":
            clock = {"bootId": self.boot_id, "monotonicNs": time.monotonic_ns(), "wallNs": time.time_ns()}
            return 200, json.dumps(clock).encode()
        if parts[1] == "pods" and parts[4] == "process_state":
            states = {*self.processes(parts[3]), "gone"}
            return 200, json.dumps(
                {"result": next(one for one in ("stopped", "running", "gone") if one in states)}
            ).encode()
        if parts[1] == "pods" and parts[4] == "reset_refused":
            return 200, json.dumps({"result": self.reset_refused}).encode()
        if parts[1] == "pods" and parts[4] == "crashable":
            return 200, b'{"result": false}'
        if parts[1] == "pods" and parts[4] == "reaches":
            wanted = dict(pair.split("=") for pair in query.split("&"))
            return 200, json.dumps({"result": self.reaches(parts[3], wanted["peer"])}).encode()
        if parts[1] == "pods":
            wanted = dict(pair.split("=") for pair in query.split("&") if pair)
            self.asked.uid = wanted.get("uid", "")
            found = self.answers(parts[3], parts[4], int(wanted.get("offset", 0)))
            return (404, b'{"error": "nothing here"}') if found is None else (200, found)
        if len(parts) == 2:
            return 200, json.dumps({"items": list(self.records.values())}).encode()
        with self._busy:
            lock = self._locks.setdefault(parts[2], threading.Lock())
        with lock:
            return self._fault(method, parts[2], content)

    def _fault(self, method: str, fault: str, content: bytes) -> tuple[int, bytes]:
        record = self.records.get(fault)
        if method == "GET":
            if record is None:
                return 404, b'{"error": "never heard of"}'
            shown = {**record, "evidence": [*record["evidence"], *self.observe(record)]}
            return 200, json.dumps(shown).encode()
        if method == "DELETE":
            if record is None:
                record = self._keep(fault, "healed", None, [])
            elif record["state"] == "inForce":
                found = [*record["evidence"], *self.heal(fault, record["request"])]
                self.undone.append(fault)
                record = self._keep(fault, "healed", record["request"], found)
            return 200, json.dumps(record).encode()
        body = json.loads(content)
        if record is not None:
            if record["request"] != body:
                self.refused.append(fault)
                return 409, b'{"error": "healed before it was asked for"}'
            return 200, json.dumps(record).encode()
        self.injected.append(fault)
        seen = self.inject(fault, body)
        over = body["kind"] in ("kill", "stop", "powerLoss", "diskWipe") and "restartAfter" not in body
        return 200, json.dumps(self._keep(fault, "done" if over else "inForce", body, seen)).encode()

    def _keep(self, fault: str, state: str, request: Json | None, seen: list[Json]) -> Json:
        record = {"id": fault, "state": state, "request": request, "until": "", "error": "", "evidence": seen}
        self.records[fault] = record
        return record
