"""A node on raw sockets, which does what a story says, and the stage on which a proxy is in front of it or not."""

from __future__ import annotations

import asyncio
import struct

from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.framing import encode_request
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

MB = 1024 * 1024
AT_ONCE = struct.pack("ii", 1, 0)


def request(number: int, client: str = "client", body: object = None, version: int = 12) -> bytes:
    return b"".join(encode_request(body or MetadataRequest(), version, number, client))


def produce(number: int, acks: int, version: int, records: bytes = b"r", transaction: str | None = None) -> bytes:
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=records)])]
    body = ProduceRequest(transactional_id=transaction, acks=acks, timeout_ms=1, topic_data=data)
    return request(number, "producer", body, version)


def answer(number: int, size: int = 4) -> bytes:
    return struct.pack(">ii", size, number) + bytes(size - 4)


def number_of(frame: bytes) -> int:
    return int(struct.unpack_from(">i", frame, 4)[0])


class RawNode:
    """Answers each request in order, unless ``talks`` says otherwise. ``got``: numbers of the requests."""

    def __init__(self) -> None:
        self.got: list[int] = []
        self.ends = 0
        """Connections whose stream has ended, or that were reset."""
        self.writers: list[asyncio.StreamWriter] = []
        self.talks = self.answers
        self.server: asyncio.Server | None = None
        self.port = 0

    async def listen(self) -> None:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=256 * MB)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            await self.talks(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            self.ends += 1

    async def take(self, reader: asyncio.StreamReader) -> bytes:
        size = int.from_bytes(await reader.readexactly(4))
        frame = await reader.readexactly(size)
        self.got.append(number_of(frame))
        return frame

    async def answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(answer(number_of(await self.take(reader))))
                await writer.drain()
        finally:
            writer.close()

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
        for writer in self.writers:
            writer.transport.abort()


class Scene:
    def __init__(self, hosts, tools, kind):
        self.hosts, self.until, self.kind = hosts, tools.until, kind
        self.node = RawNode()
        self.proxy = None

    async def begin(self, **options):
        await self.node.listen()
        target = Endpoint("127.0.0.1", self.node.port)
        self.to = target
        if self.kind == "proxy":
            self.proxy = await self.hosts.proxy(target, **options)
            self.to = self.proxy.server.bound["PROXY"]
            await self.until(lambda: self.proxy.server.is_listening)
            await self.until(lambda: self.node.writers, "the proxy has looked whether the node listens")
            await self.until(lambda: self.node.ends == 1)
            self.node.writers.clear()
            self.node.ends = 0
        return self

    async def client(self, **options):
        wire = self.hosts.wire(*await asyncio.open_connection(*self.to, **options))
        self.hosts.clients.append(wire)
        return wire

    async def numbers(self, wire, count):
        return [int.from_bytes((await wire.frame())[:4]) for _ in range(count)]
