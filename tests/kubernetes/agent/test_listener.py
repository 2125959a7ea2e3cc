"""Strangers that open connections and say little: they end, and the agent answers others meanwhile."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trustme
from agent_world import Agent
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from highwater_operator.agent.http_api import QUIET, _body
from highwater_operator.agent.listener import IDLE_S, MOST_OF_ONE, Listener
from highwater_operator.agent.refusals import RefusalError

AUTHORITY = trustme.CA()
ENDS = (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError)


async def answer(request: web.Request) -> web.Response:
    return web.Response(text="here" if request.path == "/short" else "x" * (16 << 20))


@asynccontextmanager
async def listening(*, idle_s: float = IDLE_S, **limits: Any) -> AsyncIterator[tuple[Listener, int]]:
    application = web.Application()
    application.add_routes([web.get("/short", answer), web.get("/long", answer)])
    runner = web.AppRunner(application, keepalive_timeout=idle_s, **QUIET)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(context)
    assert runner.server is not None
    listener = Listener(runner.server, context, **limits)
    port = listener.start("127.0.0.1", 0)
    try:
        yield listener, port
    finally:
        await listener.close()
        await runner.cleanup()


async def connect(port: int, source: str = "127.0.0.1", *, tls: bool = True) -> Any:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    more: dict[str, Any] = {"ssl": context, "server_hostname": "127.0.0.1"} if tls else {}
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0), **more)


async def ask(port: int, source: str = "127.0.0.2") -> bytes:
    reader, writer = await connect(port, source)
    writer.write(b"GET /short HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    said = await reader.read()
    writer.close()
    return bytes(said.splitlines()[-1])


async def end_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ENDS:
        return b""


def test_headers_that_are_never_whole_end() -> None:
    async def story() -> None:
        async with listening(idle_s=0.5) as (listener, port):
            reader, writer = await connect(port)
            writer.write(b"GET /short HTTP/1.1\r\nHost: x\r\n")
            ended = asyncio.ensure_future(end_of(reader))
            line = 0
            while not ended.done():  # each line comes in time, the last one never
                line += 1
                writer.write(b"X-%d: y\r\n" % line)
                await asyncio.sleep(0.05)
                assert line < 100
            assert b"200" not in ended.result()
            assert await ask(port) == b"here"
            writer.close()
            while listener.count():
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(story(), 60))


def test_a_handshake_that_is_never_whole_ends() -> None:
    async def story() -> None:
        async with listening(handshake_s=0.3) as (listener, port):
            silent, _keep = await connect(port, tls=False)
            other, writer = await connect(port, tls=False)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await end_of(silent) == b""
            await end_of(other)
            while listener.count():
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(story(), 60))


def test_one_address_has_so_many_connections_and_others_are_served() -> None:
    async def story() -> None:
        async with listening(most=8, most_of_one=4) as (listener, port):
            strangers = [await connect(port, tls=False) for _ in range(20)]
            refused = [asyncio.ensure_future(end_of(reader)) for reader, _ in strangers[4:]]
            await asyncio.gather(*refused)
            assert listener.count() == 4
            assert await ask(port) == b"here"
            more = [await connect(port, "127.0.0.3", tls=False) for _ in range(4)]
            with pytest.raises(ENDS):
                await ask(port)
            for _, writer in (*strangers, *more):
                writer.close()
            while listener.count():
                await asyncio.sleep(0.01)
            assert await ask(port) == b"here"

    asyncio.run(asyncio.wait_for(story(), 60))


def test_the_agent_listens_so(agent: Agent) -> None:
    strangers = [
        socket.create_connection(("127.0.0.1", agent.port), 30, ("127.0.0.9", 0)) for _ in range(MOST_OF_ONE + 20)
    ]
    try:
        ended = 0
        for stranger in strangers[MOST_OF_ONE:]:
            stranger.settimeout(30)
            ended += stranger.recv(1) == b""
        assert ended == 20
        answer = agent.ask("GET", "/v1/faults")  # the agent is shared: faults of other tests may be among them
        assert answer.status_code == 200
        assert isinstance(answer.json()["items"], list)
    finally:
        for stranger in strangers:
            stranger.close()


def test_a_body_that_is_never_whole_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater_operator.agent.http_api._BODY_WITHIN", 0.2)

    async def read(request: web.Request) -> web.Response:
        try:
            await _body(request)
        except RefusalError as refusal:
            return web.Response(status=refusal.status)
        return web.Response()

    async def story() -> None:
        application = web.Application()
        application.add_routes([web.put("/", read)])
        async with TestClient(TestServer(application)) as client:
            assert (await client.put("/", data=b"x")).status == 200

            async def slow() -> AsyncIterator[bytes]:
                yield b"x"
                await asyncio.sleep(1)

            assert (await client.put("/", data=slow())).status == 408

    asyncio.run(asyncio.wait_for(story(), 60))


def test_a_lack_of_descriptors_passes() -> None:
    async def story() -> None:
        async with listening() as (_, port):
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            with socket.socket() as end:
                resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
                try:
                    end.connect(("127.0.0.1", port))  # the kernel has it; it cannot be accepted
                    await asyncio.sleep(0.3)
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                assert await ask(port) == b"here"

    asyncio.run(asyncio.wait_for(story(), 60))


def test_an_answer_that_nobody_takes_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater_operator.agent.listener._STUCK_MS", 500)

    async def story() -> None:
        async with listening() as (listener, port):
            _, writer = await connect(port)
            writer.write(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
            while listener.count():  # its reader is full, and takes nothing
                await asyncio.sleep(0.05)
            writer.close()

    asyncio.run(asyncio.wait_for(story(), 60))
