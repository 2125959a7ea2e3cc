"""What nodes read from clients, from each other and from their disks."""

# What is fuzzed is imported late, while atheris watches imports to instrument them.
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

Target = Callable[[bytes], None]


def all_messages() -> list[tuple[Any, int]]:
    """Every message class with every version that it has."""
    from highwater_runtime.wire.catalog import message_classes

    return [(cls, version) for cls in message_classes() for version in cls.versions()]


def messages() -> Target:
    """Each decoder of each message; the first two bytes choose it."""
    from highwater_runtime.wire.codec import DecodeError

    cases = all_messages()

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
    from highwater_runtime.host.net.frames import INITIAL_BYTES, FrameReceiver

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
    from highwater_runtime.host.net.listeners import AuthenticationError
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
