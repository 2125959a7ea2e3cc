"""Coverage-guided fuzzing of everything that reads bytes from a network or a disk that may lie.

    python benchmarks/fuzz.py --seconds 60            every target, so long each
    python benchmarks/fuzz.py --seconds 600 batches   one of them

A target takes any bytes and may end in the one exception type that it promises, and in nothing else; what it does
decode must survive being encoded and decoded again. Each runs in a process of its own under libFuzzer (``atheris``),
starting from one full and one empty example of each message. In the end it says how many inputs it has run, and how
many memory blocks the process has more than after its first quarter: garbage that stays is a leak. A crash, a leak, a
time-out or too much memory for one input makes the exit status 1; the input is left in the directory that is named.
"""

# What is fuzzed is imported late, while atheris watches imports to instrument them.
# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import gc
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

Target = Callable[[bytes], None]

_LEAKED_BLOCKS = 20_000
"""Growth beyond this is a leak. Caches of bounded size (UUIDs, compiled patterns) need some."""
_BYTES_OF_ONE_INPUT = 4096


# --- targets ----------------------------------------------------------------------------------------------------------


def _messages() -> list[tuple[Any, int]]:
    """Every message class with every version that it has."""
    from highwater_runtime.wire.catalog import message_classes

    return [(cls, version) for cls in message_classes() for version in cls.versions()]


def messages() -> Target:
    """Each decoder of each message; the first two bytes choose it."""
    from highwater_runtime.wire.codec import DecodeError

    cases = _messages()

    def run(data: bytes) -> None:
        cls, version = cases[int.from_bytes(data[:2], "big") % len(cases)]
        try:
            message = cls.decode(data[2:], version)
        except DecodeError:
            return
        # Compared by what is written: a float may be NaN, which equals nothing.
        encoded = message.encode(version)
        assert cls.decode(encoded, version).encode(version) == encoded, (cls.NAME, version)

    return run


def requests() -> Target:
    """Whole request frames, as a server gets them."""
    from highwater_runtime.wire.codec import WireError
    from highwater_runtime.wire.framing import decode_request, decode_request_header, encode_request

    def run(data: bytes) -> None:
        for read in (decode_request_header, decode_request):
            with suppress(WireError):
                read(data)
        try:
            request = decode_request(memoryview(data))
        except WireError:
            return
        frame = b"".join(encode_request(request.body, request.version, request.correlation_id, request.client_id))
        again = decode_request(frame[4:])
        assert again.body.encode(request.version) == request.body.encode(request.version)

    return run


def responses() -> Target:
    """Whole response frames, as a client gets them; the first bytes choose what it had asked for."""
    from highwater_runtime.wire.codec import WireError
    from highwater_runtime.wire.framing import decode_response
    from highwater_runtime.wire.registry import APIS

    apis = list(APIS.values())

    def run(data: bytes) -> None:
        if len(data) < 2:
            return
        api = apis[data[0] % len(apis)]
        version = api.min_version + data[1] % (api.max_version - api.min_version + 1)
        with suppress(WireError):
            decode_response(data[2:], api.key, version)

    return run


def stream() -> Target:
    """The bytes of a connection in pieces: the frames are cut right, and the buffer stays in proportion."""
    from highwater_runtime.host.frames import INITIAL_BYTES, FrameReceiver

    class Receiver(FrameReceiver):
        largest_frame = 1 << 20

        def __init__(self) -> None:
            super().__init__()
            self.stopped = False
            self.frames: list[bytes] = []
            self.complaint = ""

        def frame_received(self, frame: bytes | memoryview) -> None:
            self.frames.append(bytes(frame))

        def malformed(self, why: str) -> None:
            self.complaint = why

    def run(data: bytes) -> None:
        if not data:
            return
        receiver, step, sent = Receiver(), data[0] * 37 + 1, 0
        content = data[1:]
        while sent < len(content) and not receiver.complaint:
            room = receiver.get_buffer(0)
            assert len(room) > 0
            piece = content[sent : sent + min(step, len(room))]
            room[: len(piece)] = piece
            sent += len(piece)
            receiver.take_in(len(piece))
            assert len(receiver.get_buffer(0)) <= 2 * sent + 5 * INITIAL_BYTES
        whole = b"".join(len(frame).to_bytes(4, "big") + frame for frame in receiver.frames)
        assert content.startswith(whole)
        if not receiver.complaint:
            assert receiver.buffered_bytes == len(content) - len(whole)

    return run


def metadata_records() -> Target:
    """Records of the metadata log."""
    from highwater_runtime.wire.codec import DecodeError
    from highwater_runtime.wire.records_codec import decode_metadata_record

    def run(data: bytes) -> None:
        with suppress(DecodeError):
            decode_metadata_record(data)

    return run


def coordinator_records() -> Target:
    """Keys and values of ``__consumer_offsets``, and what consumers send each other."""
    from highwater_runtime.wire import versioned
    from highwater_runtime.wire.codec import DecodeError
    from highwater_runtime.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
    from highwater_runtime.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
    from highwater_runtime.wire.messages.group_metadata_value import GroupMetadataValue
    from highwater_runtime.wire.messages.offset_commit_value import OffsetCommitValue

    readers: list[Callable[[bytes], Any]] = [
        versioned.decode_coordinator_key,
        lambda data: versioned.decode_versioned(OffsetCommitValue, data),
        lambda data: versioned.decode_versioned(GroupMetadataValue, data),
        lambda data: versioned.decode_consumer_protocol(ConsumerProtocolSubscription, data),
        lambda data: versioned.decode_consumer_protocol(ConsumerProtocolAssignment, data),
    ]

    def run(data: bytes) -> None:
        for read in readers:
            with suppress(DecodeError):
                read(data)

    return run


def batches() -> Target:
    """Record batches: as produced by a client, and as fetched from a leader. The CRC of half of them is put right."""
    from highwater_runtime.log.admission import Admission, check_client_batch, whole_batches
    from highwater_runtime.log.control import control_type_of, read_leader_change
    from highwater_runtime.log.errors import LogError
    from highwater_runtime.log.records import BatchView, iter_batches

    def read(data: bytes) -> None:
        for batch in iter_batches(data):
            batch.ensure_valid()
            for record in batch.records():
                if batch.is_control:
                    control_type_of(record)
            read_leader_change(batch)

    def admit(data: bytes) -> None:
        views = whole_batches(data)
        for batch in views:
            check_client_batch(batch, Admission(1 << 20, keyed=True), alone=len(views) == 1)

    def run(data: bytes) -> None:
        if data and data[0] & 1 and len(data) >= 62:
            mended = bytearray(data[1:])
            mended[16] = 2
            mended[8:12] = (len(mended) - 12).to_bytes(4, "big")
            mended[17:21] = BatchView(mended).computed_crc().to_bytes(4, "big")
            data = bytes(mended)
        for work in (read, admit):
            with suppress(LogError):
                work(data)

    return run


def sasl() -> Target:
    """Conversations with the server's end of each mechanism, messages separated by zero bytes; the first byte chooses.

    Nobody without a password may ever become somebody.
    """
    from highwater_runtime.host.listeners import AuthenticationError
    from highwater_runtime.host.security.plain import PlainServer
    from highwater_runtime.host.security.scram import ScramClient, ScramServer
    from highwater_runtime.metadata.scram import ScramMechanism, credential_of

    credentials = {
        mechanism.sasl_name: credential_of(mechanism, "a password", b"a salt of 20 bytes..", 4096)
        for mechanism in ScramMechanism
    }

    def run(data: bytes) -> None:
        kind, messages = data[:1], data[1:].split(b"\0\0")
        name = list(credentials)[kind < b"\x80"]
        server = (
            PlainServer({"user": "a password"}) if kind < b"\x40" else ScramServer(name, lambda _: credentials[name])
        )
        client = ScramClient(name, "user", "another password")
        client.first()
        for message in messages:
            for end in (server, client):
                with suppress(AuthenticationError):
                    end.respond(message)
        assert server.user is None or b"a password" in data
        assert not client.done

    return run


def agent_control() -> Target:
    """What a hostile node answers on its control socket, as each kind of answer that the node agent reads."""
    import socket

    from highwater_chaos.machine.conversation import read_answer
    from highwater_chaos.machine.errors import MachineError
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


def agent_http() -> Target:
    """Requests to the node agent, with its token, up to the machine: method and path in the first line, then the body.

    An input whose first byte is zero is sent as it is. No answer may be 500, and the agent answers the next one.
    """
    import asyncio
    import socket
    import threading

    from aiohttp import web

    from highwater_operator.agent.http_api import Api
    from highwater_operator.agent.pods import Pod
    from highwater_operator.agent.records import FaultRecord, Records
    from highwater_operator.agent.service import Faults
    from highwater_operator.agent.settings import Settings
    from highwater_operator.agent.volumes import VolumeRecord, Volumes

    folder = Path(tempfile.mkdtemp(prefix="highwater-fuzz-agent-"))
    token = "a-token-that-nobody-guesses"
    (folder / "token").write_text(token)
    pod = Pod("ns", "demo-broker-0", str(UUID(int=7)), "node-1", labels={"highwater.dev/cluster": "demo"})

    class OnePod:
        def known(self) -> list[Pod]:
            return [pod]

        def read(self, namespace: str, name: str) -> Pod | None:
            return pod if (namespace, name) == (pod.namespace, pod.name) else None

    class NothingKept(Records):
        def put(self, record: FaultRecord) -> FaultRecord:
            return record

    class NothingMade(Volumes):
        def _write(self, record: VolumeRecord) -> None: ...

        def _make(self, record: VolumeRecord) -> VolumeRecord:
            return record

        def mount(self, record: VolumeRecord) -> None: ...

    volumes: Any = NothingMade(folder / "state", folder / "mounts")
    machine: Any = None  # whatever would need it must be refused before
    faults = Faults("node-1", machine, OnePod(), volumes, NothingKept(folder / "faults"), folder)
    api = Api(
        Settings("node-1", folder / "token", folder, folder, kubelet=folder), faults, OnePod(), volumes, lambda: None
    )
    loop, path, up = asyncio.new_event_loop(), str(folder / "socket"), threading.Event()

    async def serve() -> None:
        runner = web.AppRunner(api.application(), access_log=None)
        await runner.setup()
        await web.UnixSite(runner, path).start()
        up.set()

    def forever() -> None:
        loop.create_task(serve())
        loop.run_forever()

    threading.Thread(target=forever, daemon=True).start()
    assert up.wait(30)

    def run(data: bytes) -> None:
        if not data.startswith(b"\0"):
            line, _, body = data.partition(b"\n")
            head = (
                f"Host: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            data = line + b" HTTP/1.1\r\n" + head.encode() + body
        else:
            data = data[1:]
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(10)
            end.connect(path)
            with suppress(BrokenPipeError, ConnectionResetError):
                end.sendall(data)
                end.shutdown(socket.SHUT_WR)
            answer = b""
            with suppress(ConnectionResetError):
                while more := end.recv(65536):
                    answer += more
        assert not answer.startswith(b"HTTP/1.1 500"), answer[:2000]

    return run


TARGETS: dict[str, Callable[[], Target]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        *(messages, requests, responses, stream, metadata_records, coordinator_records, batches, sasl),
        *(agent_control, agent_answers, agent_http),
    )
}


_POD = b'"pod": {"namespace": "ns", "name": "demo-broker-0", "uid": "00000000-0000-0000-0000-000000000008"}'
_AGENT_EXAMPLES = {
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


# --- examples to start from -------------------------------------------------------------------------------------------


def _full(struct: Any, version: int) -> Any:
    """A message with something in every field."""
    filled: dict[str, Any] = {}
    for field in struct.fields:
        if version not in field.versions:
            continue
        if field.struct is not None:
            one = _full(field.struct, version)
        else:
            one = {"bool": True, "uuid": UUID(int=7), "string": "ab", "bytes": b"cd", "records": b"ef"}.get(
                field.type, 3
            )
        filled[field.name] = [one, one] if field.is_array else one
    return struct.cls(**filled)


def examples(target: str) -> Iterator[bytes]:
    """Inputs that reach deep at once."""
    from highwater_runtime.log.control import build_leader_change
    from highwater_runtime.log.records import Record, build_batch
    from highwater_runtime.wire.framing import encode_request, encode_response
    from highwater_runtime.wire.records_codec import METADATA_RECORDS, encode_metadata_record
    from highwater_runtime.wire.registry import APIS
    from highwater_runtime.wire.versioned import encode_versioned

    if target == "batches":
        record = Record(key=b"k", value=b"v", headers=(("h", b"w"), ("n", None)))
        batch = build_batch([b"a", record, b""], producer_id=1, producer_epoch=0, base_sequence=0, timestamp_ms=5)
        for data in (batch, batch + build_batch([], last_offset=3), build_leader_change(1, [1, 2], [2])):
            yield b"\0" + data
            yield b"\1" + data
        return
    if target == "sasl":
        yield b"\0\0user\0guess"
        for kind in (b"\x40", b"\xff"):
            yield kind + b"n,,n=user,r=abcdefgh\0\0c=biws,r=abcdefghij,p=" + b"A" * 43 + b"="
            yield kind + b"r=abcdefghij,s=QSQhYSBzYWx0IGhlcmU=,i=4096\0\0v=" + b"A" * 43 + b"="
        return
    if target.startswith("agent-"):
        yield from _AGENT_EXAMPLES[target]
        return
    keys = list(APIS)
    for index, (cls, version) in enumerate(_messages()):
        for message in (cls(), _full(cls.SCHEMA, version)):
            try:
                body = message.encode(version)
            except ValueError:
                continue  # null is the default of a field that this version has, and cannot have as null
            if target == "messages":
                yield index.to_bytes(2, "big") + body
            elif target in ("requests", "stream") and cls.KIND == "request":
                frame = b"".join(encode_request(message, version, 7, "client"))
                yield frame[4:] if target == "requests" else b"\3" + frame * 2
            elif target == "responses" and cls.KIND == "response":
                frame = b"".join(encode_response(message, version, 7))
                yield bytes((keys.index(cls.API_KEY), version - cls.MIN_VERSION)) + frame[4:]
            elif target == "metadata-records" and cls.KIND == "metadata" and cls.API_KEY in METADATA_RECORDS:
                yield encode_metadata_record(message, version)
            elif target == "coordinator-records" and cls.KIND in ("coordinator", "data"):
                yield encode_versioned(message, version)


# --- one target under libFuzzer ---------------------------------------------------------------------------------------


def _instrumented(compiled: Callable[..., Any], instrument: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: instrument(compiled(*arguments))


def fuzz(target: str, seconds: float, directory: Path) -> None:
    """Run one target in this process; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["highwater_runtime", "highwater_operator", "highwater_chaos.machine"]):
        run = TARGETS[target]()
    from highwater_runtime.wire import codec
    from highwater_runtime.wire.generator import functions

    functions.compiled = _instrumented(functions.compiled, atheris.instrument_func)  # what is generated is not imported

    corpus = directory / "corpus"
    corpus.mkdir()
    for number, data in enumerate(examples(target)):
        (corpus / str(number)).write_bytes(data)
        with suppress(Exception):  # libFuzzer runs it again, and reports
            run(data)  # what is generated on first use shall not count as a leak

    begin = time.monotonic()
    after_warming: list[int] = []
    next_look = [0.0]
    runs = 0

    def blocks() -> int:
        codec._uuids.clear()
        gc.collect()
        return sys.getallocatedblocks()

    def one(data: bytes) -> None:
        nonlocal runs
        runs += 1
        run(data)
        if runs % 128 == 0:
            passed = time.monotonic() - begin
            if not after_warming and passed > seconds / 4:
                after_warming.append(blocks())
            elif after_warming and passed > next_look[0]:
                next_look[0] = passed + 1
                after_warming[1:] = [blocks()]
                (directory / "counts").write_text(f"{runs} {passed:.1f} {after_warming[0]} {after_warming[1]}")

    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={max(2, round(seconds))}",
            f"-max_len={_BYTES_OF_ONE_INPUT}",
            "-timeout=10",
            "-rss_limit_mb=1024",
            "-print_final_stats=1",
            f"-artifact_prefix={directory}/",
            str(corpus),
        ],
        one,
    )
    atheris.Fuzz()


def main() -> int:
    """Fuzz the chosen targets, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="default: all")
    parser.add_argument("--seconds", type=float, default=30, help="for each target")
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.within is not None:
        fuzz(options.targets[0], options.seconds, options.within)
        return 0
    failures = 0
    print(f"{'target':20} {'executions':>12} {'per second':>11} {'blocks':>9} {'growth':>8} {'peak MiB':>9}")
    for target in options.targets or TARGETS:
        directory = Path(tempfile.mkdtemp(prefix=f"highwater-fuzz-{target}-"))
        command = [sys.executable, __file__, target, "--seconds", str(options.seconds), "--within", str(directory)]
        log = directory / "log"
        with log.open("wb") as out:
            status = subprocess.run(
                command, stdout=out, stderr=subprocess.STDOUT, check=False, env=os.environ
            ).returncode
        counts = directory / "counts"
        if status != 0 or not counts.exists():
            failures += 1
            print(f"{target:20} FAILED with status {status}; see {log}")
            continue
        runs, passed, before, after = counts.read_text().split()
        text = log.read_text(errors="replace")
        executions = re.search(r"stat::number_of_executed_units:\s+(\d+)", text)
        peak = re.search(r"stat::peak_rss_mb:\s+(\d+)", text)
        growth = int(after) - int(before)
        leaks = growth > _LEAKED_BLOCKS
        failures += leaks
        total = int(executions[1]) if executions else int(runs)
        print(
            f"{target:20} {total:12,} {int(runs) / float(passed):11,.0f} {int(after):9,} {growth:+8,}"
            f" {peak[1] if peak else '?':>9}{'  LEAK' if leaks else ''}",
            flush=True,
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
