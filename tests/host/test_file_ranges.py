"""What is sent from a file: its bytes are those that were lent, whatever becomes of file, socket and peer."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl

import pytest
from processes import open_files

from highwater_runtime.host.files.file_range import LEAST_BYTES, PosixFileRange
from highwater_runtime.host.files.posix_disk import PosixDisk
from highwater_runtime.host.net.listeners import Listener, ListenerSecurity
from highwater_runtime.wire.messages.fetch_request import FetchRequest
from highwater_runtime.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from highwater_runtime.wire.messages.metadata_request import MetadataRequest

VERSION = 12
SIZE = 20 << 20
"""More than the buffers of two sockets take."""


def now(task):
    task()


@pytest.fixture
def disk(tmp_path):
    return PosixDisk(tmp_path, run_blocking=now, post=now)


@pytest.fixture
def file(disk):
    opened = disk.open("log", create=True)
    opened.append(os.urandom(SIZE))
    return opened


def lent(file, position=0, length=SIZE) -> PosixFileRange:
    found = file.lend(position, length)
    assert isinstance(found, PosixFileRange)
    return found


def response(*records) -> FetchResponse:
    partitions = [
        PartitionData(partition_index=n, error_code=0, high_watermark=7, records=part) for n, part in enumerate(records)
    ]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


def records_of(answer) -> list[bytes]:
    return [bytes(partition.records) for partition in answer.responses[0].partitions]


async def asked(hosts, tools, node, count=1):
    """A client, whose requests wait for their answers."""
    client = await hosts.client(node, limit=1 << 16)
    for number in range(count):
        client.send(FetchRequest(), VERSION, number)
    await tools.until(lambda: len(node.core.requests) >= count)
    return client


# --- files -----------------------------------------------------------------------------------------------------------


def test_little_is_read_at_once_and_so_is_what_is_not_there(file):
    assert isinstance(file.lend(0, LEAST_BYTES - 1), bytes)
    assert file.lend(SIZE - 10, LEAST_BYTES) == file.read(SIZE - 10, LEAST_BYTES)
    assert len(lent(file)) == SIZE


@pytest.mark.parametrize("fate", ["truncate", "unlink", "rename", "close"])
def test_a_range_keeps_its_bytes(disk, file, fate):
    expected = file.read(100, SIZE - 100)
    found = lent(file, 100, SIZE - 100)
    match fate:
        case "truncate":
            file.truncate(5000)
            file.append(b"x" * SIZE)
        case "unlink":
            disk.unlink("log")
        case "rename":
            disk.rename("log", "elsewhere")
        case "close":
            file.close()
    assert found.read() == expected
    assert found.read(50, 7) == expected[50:57]


def test_bytes_on_their_way_to_a_peer_stay_what_they_were_when_the_file_is_cut(file):
    """Until the peer has copied them they are pages of the file, and the kernel writes zeros where it cuts a file."""
    length = LEAST_BYTES
    expected = file.read(0, length)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sender:
        receiver, _ = server.accept()
        with receiver:
            sent = lent(file, 0, length).send(sender.fileno(), 0, length)
            file.truncate(1001)
            file.append(b"x" * SIZE)
            received = bytearray()
            while len(received) < sent:
                received += receiver.recv(1 << 20)
    assert sent > 8192
    assert received == expected[:sent]


def test_a_file_that_is_cut_below_a_range_goes_on_as_any_other(disk, file):
    expected = file.read(0, 5000)
    found = lent(file)
    disk.rename("log", "renamed")
    file.truncate(5000)
    assert file.append(b"more") == 5000
    again = disk.open("renamed")
    assert again.read(0, SIZE) == file.read(0, SIZE) == expected + b"more"
    assert disk.list() == ["renamed"]
    file.truncate(10)
    assert (again.size(), found.size) == (10, SIZE), "in place: nothing was lent of the new file"


def test_a_copy_is_durable_before_it_takes_the_place_of_the_file(disk, file, monkeypatch):
    lent(file)
    synced, rename, done = [], os.rename, os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_ino), done(fd)))

    def checked(source, target):
        assert os.stat(source).st_ino in synced  # noqa: PTH116
        rename(source, target)

    monkeypatch.setattr(os, "rename", checked)
    file.truncate(5000)
    assert len(synced) == 2, "the file, then the directory"


def test_a_disk_without_room_for_the_copy_leaves_the_file_as_it_was(disk, file, monkeypatch):
    lent(file)
    before = len(open_files())

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "sendfile", full)
        with pytest.raises(OSError, match="No space"):
            file.truncate(5000)
    assert (file.size(), disk.list(), len(open_files())) == (SIZE, ["log"], before)


# --- connections -----------------------------------------------------------------------------------------------------


def test_answers_from_files_and_others_leave_in_order_and_whole(play, tools, file, monkeypatch):
    sent = []
    send = PosixFileRange.send
    monkeypatch.setattr(PosixFileRange, "send", lambda *given: sent.append(0) or send(*given))

    async def story(hosts):
        node, core = await hosts.server()
        client = await asked(hosts, tools, node, 4)
        expected = file.read(0, SIZE)
        answers = [response(lent(file), b"small", lent(file, 77, SIZE - 77)), response(b"x"), response(lent(file))]
        answers.append(response(b"y" * SIZE))
        for request, answer in zip(core.requests, answers, strict=True):
            node.run(lambda request=request, answer=answer: request.reply(answer))
        received = [await client.receive(FetchRequest, VERSION) for _ in range(4)]
        assert [number for number, _ in received] == [0, 1, 2, 3]
        assert records_of(received[0][1]) == [expected, b"small", expected[77:]]
        assert [records_of(answer) for _, answer in received[1:]] == [[b"x"], [expected], [b"y" * SIZE]]
        client.send(MetadataRequest(), 12, 9)
        await tools.until(lambda: len(core.requests) == 5)
        node.run(lambda: core.requests[4].reply(tools.metadata("after")))
        assert (await client.receive(MetadataRequest, 12))[0] == 9
        assert not core.requests[4].connection._outbox.has_queue

    play(story)
    assert sent


def test_a_client_that_does_not_read_is_not_read_from_and_gets_everything_later(play, tools, disk, file):
    async def story(hosts):
        node, core = await hosts.server()
        client = await asked(hosts, tools, node)
        expected = file.read(0, SIZE)
        node.run(lambda: core.requests[0].reply(response(lent(file))))
        client.send(FetchRequest(), VERSION, 1)
        for _ in range(50):
            await asyncio.sleep(0.002)
        assert len(core.requests) == 1
        file.truncate(3000)
        file.append(b"x" * SIZE)
        disk.unlink("log")
        assert records_of((await client.receive(FetchRequest, VERSION))[1]) == [expected]
        await tools.until(lambda: len(core.requests) == 2)

    play(story)


def test_a_client_that_ends_its_half_still_gets_what_is_on_its_way(play, tools, file):
    async def story(hosts):
        node, core = await hosts.server()
        client = await asked(hosts, tools, node)
        expected = file.read(0, SIZE)
        node.run(lambda: core.requests[0].reply(response(lent(file))))
        client.writer.write_eof()
        for _ in range(20):
            await asyncio.sleep(0.002)
        assert records_of((await client.receive(FetchRequest, VERSION))[1]) == [expected]
        assert await client.is_closed()
        await tools.until(lambda: not node.server.connections)

    play(story)


@pytest.mark.parametrize("end", ["client", "server", "kill"])
def test_nothing_stays_open_when_a_connection_ends_in_the_middle(play, tools, disk, file, tmp_path, end):
    async def story(hosts):
        node, core = await hosts.server()
        client = await asked(hosts, tools, node)
        connection = core.requests[0].connection
        node.run(lambda: core.requests[0].reply(response(lent(file))))
        file.close()
        assert tmp_path / "log" in open_files()
        match end:
            case "client":
                client.writer.transport.abort()
            case "server":
                connection.close(None)
            case "kill":
                node.kill()
        core.requests.clear()
        await tools.until(lambda: connection.is_closed)
        await tools.until(lambda: tmp_path / "log" not in open_files())
        sockets = [path for path in open_files() if str(path).startswith("socket:")]
        assert len(sockets) == len(set(sockets)), "no descriptor of a connection's own is left"

    play(story)


def test_a_disk_that_fails_under_a_send_ends_the_connection_and_is_reported(play, tools, file, tmp_path):
    async def story(hosts):
        node, core = await hosts.server()
        client = await asked(hosts, tools, node)
        found, failures = lent(file), []
        found.on_failure = failures.append
        node.run(lambda: core.requests[0].reply(response(found)))
        os.truncate(tmp_path / "log", SIZE // 2)  # behind the node's back
        with pytest.raises(asyncio.IncompleteReadError):
            await client.receive(FetchRequest, VERSION)
        await tools.until(lambda: failures)
        assert "expected" in str(failures[0])

    play(story)


def test_a_file_that_cannot_be_sent_from_is_read(play, tools, file, monkeypatch):
    def unsupported(*_):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(PosixFileRange, "send", unsupported)

    async def story(hosts):
        node, core = await hosts.server()
        client = await asked(hosts, tools, node)
        node.run(lambda: core.requests[0].reply(response(lent(file), b"small")))
        answer = (await client.receive(FetchRequest, VERSION))[1]
        assert records_of(answer) == [file.read(0, SIZE), b"small"]

    play(story)


def test_an_idle_connection_is_not_one_that_takes_bytes_slowly(play, tools, file):
    async def story(hosts):
        node, core = await hosts.server(max_idle_ms=300)
        client = await asked(hosts, tools, node)
        expected = file.read(0, SIZE)
        node.run(lambda: core.requests[0].reply(response(lent(file))))
        received = bytearray()
        while len(received) < SIZE:
            some = await client.reader.read(1 << 20)
            assert some, "closed as idle"
            received += some
            await asyncio.sleep(0.03)
        assert received.endswith(expected[-1000:]) or expected in received

    play(story)


@pytest.fixture
def tls(tmp_path):
    import trustme

    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(client)
    return server, client


def test_by_tls_the_bytes_are_read(play, tools, tls, file):
    server, client_context = tls

    async def story(hosts):
        listener = Listener("PLAINTEXT", tools.loopback, ListenerSecurity(ssl_context=server))
        node = await hosts.node(listeners=[listener])
        client = await hosts.client(node, ssl=client_context)
        client.send(FetchRequest(), VERSION, 1)
        await tools.until(lambda: node.core.requests)
        node.run(lambda: node.core.requests[0].reply(response(lent(file))))
        assert records_of((await client.receive(FetchRequest, VERSION))[1]) == [file.read(0, SIZE)]

    play(story)
