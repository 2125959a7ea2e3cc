"""What the privileged node agent reads: from pods, which are hostile, and from callers."""

# What is fuzzed is imported late, while atheris watches imports to instrument them.
# ruff: noqa: PLC0415

from __future__ import annotations

import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

from highwater_lab.benchmarks.fuzzing.protocol import Target

_METHODS = (b"GET", b"PUT", b"DELETE")
_POD = b'"pod": {"namespace": "ns", "name": "demo-broker-0", "uid": "00000000-0000-0000-0000-000000000008"}'
EXAMPLES = {
    "agent-control": [
        *(b'{"id": 1, "result": ' + one + b"}\n" for one in (b"true", b"null", b"7", b'{"waitingNs": 3}', b"1e999")),
        b'{"id": 1, "result": {"offsetNs": -5, "rate": 1.0}}\n',
        b'{"id": 1, "result": {"id": 9, "password": "00ff"}}\n',
        b'{"id": 1, "error": "no such method"}\n',
        b"[" * 3000 + b"\n",
    ],
    "agent-answers": [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 1\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nup 1\n\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nup 1\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3,
    ],
    "agent-http": [
        b"GET /healthz\n",
        b"GET /v1/faults\n",
        b"GET /v1/faults/a\n",
        b"DELETE /v1/faults/a\n",
        b'PUT /v1/faults/a\n{"kind": "pause", "deadline": "2030-01-01T00:00:00Z", ' + _POD + b"}",
        b'PUT /v1/faults/a\n{"kind": "drop", "rpc": "Fetch", "deadline": "2030-01-01T00:00:00Z", ' + _POD + b"}",
        b'PUT /v1/volumes/ns_a\n{"sizeBytes": 41943040}',
        b"DELETE /v1/volumes/ns_a\n",
        *(
            b"GET /v1/pods/ns/demo-broker-0" + what + b"\n"
            for what in (b"", b"/events?offset=1", b"/dump", b"/metrics")
        ),
        b"GET /v1/pods/ns/demo-broker-0/reaches?peer=10.0.0.1&port=9404\n",
        b"\0GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ],
}


def agent_control() -> Target:
    """What a hostile node answers on its control socket, as each kind of answer that the node agent reads."""
    import socket

    from highwater_chaos.machine.errors import MachineError
    from highwater_chaos.machine.process.control_socket import read_answer
    from highwater_operator.agent.faults.node_program import ClockError, Count, FlushProbe, SessionKey, answer_as

    kinds = (bool, Count, FlushProbe, ClockError, SessionKey | None)

    def run(data: bytes) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(data)
            theirs.shutdown(socket.SHUT_WR)
            try:
                answer = read_answer(ours, time.monotonic() + 5, "/run/x", "hasRule")
            except MachineError:
                return
            for kind in kinds:
                with suppress(MachineError):
                    answer_as(kind, answer, "hasRule")

    return run


def agent_answers() -> Target:
    """What a hostile pod answers on its admin port, to the node agent that wants its metrics."""
    import socket

    from highwater_chaos.machine.errors import MachineError
    from highwater_operator.agent.probes import MOST_BYTES, Timed, ask

    def run(data: bytes) -> None:
        ours, theirs = socket.socketpair()
        with Timed(fileno=ours.detach()) as end, theirs:
            end.until = time.monotonic() + 5
            theirs.sendall(data)
            theirs.shutdown(socket.SHUT_WR)
            with suppress(MachineError):
                status, body = ask(end, 9404, "/metrics")
                assert 100 <= status <= 999
                assert len(body) <= MOST_BYTES

    return run


def _request(data: bytes, token: str) -> bytes:
    """A request that aiohttp's parser takes, of method and path in the first line, and the body."""
    line, _, body = data.partition(b"\n")
    method, _, path = line.partition(b" ")
    method = method if method in _METHODS else _METHODS[sum(method) % len(_METHODS)]
    line = method + b" /" + quote(path.lstrip(b"/"), safe="/?&=%.:_~+-").encode()
    head = f"Host: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return line + b" HTTP/1.1\r\n" + head.encode() + body


def _exchange(path: str, request: bytes) -> bytes:
    """The answer of the server that listens at a path; empty if it gives none."""
    with socket.socket(socket.AF_UNIX) as end:
        end.settimeout(10)
        end.connect(path)
        with suppress(BrokenPipeError, ConnectionResetError):
            end.sendall(request)
            end.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionResetError):
            while more := end.recv(65536):
                answer += more
    return answer


def agent_http() -> Target:
    """Requests to the node agent, with its token, up to the machine: method and path in the first line, then the body.

    What no URL may hold is quoted, and what is no method becomes one: otherwise nearly all that a fuzzer makes of a
    request ends in aiohttp's parser. An input whose first byte is zero is sent as it is. No answer may be 500, and the
    agent answers the next one.
    """
    import asyncio
    import atexit
    import threading

    from aiohttp import web

    from highwater_chaos.base.scratch import ScratchDirectory
    from highwater_chaos.kube.kinds import CHAOS_ALLOWED
    from highwater_operator.agent.admission import Admission
    from highwater_operator.agent.http_api import QUIET, Api
    from highwater_operator.agent.kept_events import KeptEvents
    from highwater_operator.agent.machine import Machine
    from highwater_operator.agent.machine_record import MachineRecord
    from highwater_operator.agent.pods import Pod
    from highwater_operator.agent.records import FaultRecord, Records
    from highwater_operator.agent.refusals import RefusalError
    from highwater_operator.agent.service import Faults
    from highwater_operator.agent.settings import Settings
    from highwater_operator.agent.volumes import VolumeRecord, Volumes

    scratch = ScratchDirectory("fuzz-agent")
    atexit.register(scratch.cleanup)
    folder = Path(scratch.name)
    token = "a-token-that-nobody-guesses"
    (folder / "token").write_text(token)
    pod = Pod("ns", "demo-broker-0", str(UUID(int=7)), "node-1")

    class OnePod:
        def known(self) -> list[Pod]:
            return [pod]

        def read(self, namespace: str, name: str) -> Pod | None:
            return pod if (namespace, name) == (pod.namespace, pod.name) else None

    class OptedIn:
        def opted_in(self, namespace: str) -> str | None:
            return CHAOS_ALLOWED if namespace == pod.namespace else None

        def owner_of(self, *_: str) -> None:
            return None

        def uids(self, namespace: str) -> frozenset[str]:
            del namespace
            return frozenset()

        def stateful_sets(self, namespace: str) -> dict[str, frozenset[str]]:
            del namespace
            return {}

    class NothingKept(Records):
        def put(self, record: FaultRecord) -> FaultRecord:
            return record

    class NothingMade(Volumes):
        def _write(self, record: VolumeRecord) -> None: ...

        def _make(self, record: VolumeRecord) -> VolumeRecord:
            return record

        def mount(self, record: VolumeRecord) -> None: ...

    class NeverReset(Machine):
        def ensure_resettable(self) -> str:
            raise RefusalError(403, "it is the machine of the laboratory")

    volumes: Any = NothingMade(folder / "state", folder / "mounts")
    machine: Any = None  # whatever would need it must be refused before
    admission = Admission("node-1", OnePod(), OptedIn(), OptedIn())
    faults = Faults(
        admission, machine, volumes, NothingKept(folder / "faults"), folder, NeverReset("node-1", machine, list, folder)
    )
    settings = Settings("node-1", folder / "token", folder, folder, kubelet=folder)
    record = MachineRecord("node-1", folder / "state")
    api = Api(settings, faults, admission, volumes, record, lambda: None, KeptEvents(folder, lambda pod: pod))
    loop, path, up = asyncio.new_event_loop(), str(folder / "socket"), threading.Event()

    async def serve() -> None:
        runner = web.AppRunner(api.application(), **QUIET)
        await runner.setup()
        await web.UnixSite(runner, path).start()
        up.set()

    def forever() -> None:
        loop.create_task(serve())
        loop.run_forever()

    threading.Thread(target=forever, daemon=True).start()
    assert up.wait(30)

    def run(data: bytes) -> None:
        answer = _exchange(path, data[1:] if data.startswith(b"\0") else _request(data, token))
        assert not answer.startswith(b"HTTP/1.1 500"), answer[:2000]

    return run
