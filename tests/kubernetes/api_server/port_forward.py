"""``pods/<name>/portforward``: bytes between a WebSocket and a port of a pod, as the kubelet carries them.

Channels of ``v4.channel.k8s.io``: for each port one for data and one for errors; the first frame of each is the port.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Final

from aiohttp import WSMsgType, web

from . import errors
from .errors import Json
from .http_request import Asked

PROTOCOLS: Final = ("v4.channel.k8s.io",)
_DATA: Final = b"\0"
_ERROR: Final = b"\1"


async def forward(request: web.BaseRequest, asked: Asked, pod: Json) -> web.StreamResponse:
    """Until either side is through. 400 where no WebSocket, or not one port, is asked for."""
    ports = asked.query.get("ports", "")
    socket = web.WebSocketResponse(protocols=PROTOCOLS)
    if not ports.isdecimal() or not socket.can_prepare(request):
        raise errors.bad_request("expected one port, and an upgrade to a WebSocket")
    await socket.prepare(request)
    port = struct.pack("<H", int(ports))
    await socket.send_bytes(_DATA + port)
    await socket.send_bytes(_ERROR + port)
    address = (pod.get("status") or {}).get("podIP", "")
    try:
        reader, writer = await asyncio.open_connection(address, int(ports))
    except OSError as error:
        await socket.send_bytes(_ERROR + f"connect to {address}:{ports}: {error}".encode())
        await socket.close()
        return socket

    async def back() -> None:
        while data := await reader.read(1 << 16):
            await socket.send_bytes(_DATA + data)
        await socket.close()

    answering = asyncio.create_task(back())
    try:
        async for message in socket:
            if message.type is WSMsgType.BINARY and message.data[:1] == _DATA:
                writer.write(message.data[1:])
                await writer.drain()
    finally:
        answering.cancel()
        writer.close()
    return socket
