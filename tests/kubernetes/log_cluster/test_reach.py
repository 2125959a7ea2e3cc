"""What nodes say of whom they reach: any answer is an answer, in bounded time and size."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from highwater_operator.admin.model import QuorumView
from highwater_operator.admin.reach import why_apart
from highwater_runtime.ports import Endpoint

OK = b"HTTP/1.1 200 OK\r\n\r\n"


def ask(answer: bytes, *, endless: bool = False) -> str | None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            while endless:
                writer.write(b"x" * 65536 if answer else b"")
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    async def run() -> str | None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        try:
            return await why_apart("demo-controller-0", Endpoint(*server.sockets[0].getsockname()[:2]), 0.5)
        finally:
            server.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (OK + b"{}\n", None),
        (b"HTTP/1.1 404 Not Found\r\n\r\nthere are others\n", None),
        (OK + b'{"1001": "timed-out"}', "demo-controller-0 does not reach controllers 1001 (timed-out)"),
        (OK + b'{"1001": 7}', "malformed"),
        (OK + b"\xff\xfe", "malformed"),
        (b"", "malformed"),
    ],
)
def test_an_answer_is_understood_or_keeps_the_roll_waiting(answer: bytes, why: str | None) -> None:
    found = ask(answer)
    assert found is None if why is None else why in str(found)


def test_an_endless_answer_is_cut_off() -> None:
    assert "malformed" in str(ask(OK, endless=True))


def test_a_silent_node_keeps_the_roll_waiting() -> None:
    assert "no answer within 0.5 s" in str(ask(b"", endless=True))


def test_many_nodes_make_no_long_message() -> None:
    why = QuorumView(0, 1, 0, {}, tuple(f"broker-{n} does not reach 1000" for n in range(300))).why_unsafe
    assert str(why).endswith("broker-4 does not reach 1000; and 295 more nodes")
