"""Whom of the metadata quorum a node cannot reach, as it says itself on its admin endpoint's page ``/quorum``."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from highwater_runtime.ports import Endpoint

_MOST_BYTES: Final = 1 << 16
_REQUEST: Final = b"GET /quorum HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"
_decode: Final = msgspec.json.Decoder(dict[str, str]).decode


async def why_apart(name: str, at: Endpoint, timeout_s: float) -> str | None:
    """Why the node called ``name`` may not reach every controller; None: it does, or is of a release without the page.

    A node that cannot be asked counts as one that reaches nobody: a restart can wait for it.
    """
    try:
        async with asyncio.timeout(timeout_s):
            page = await _get(at)
    except TimeoutError:
        return f"{name} does not say whether it reaches all controllers: no answer within {timeout_s:g} s"
    except OSError as error:
        return f"{name} does not say whether it reaches all controllers: {error.strerror or error}"
    head, _, body = page.partition(b"\r\n\r\n")
    status = head[:12].split(b" ")[-1]
    if status == b"404":
        return None
    try:
        found = _decode(body)
    except msgspec.MsgspecError:
        return f"{name} does not say whether it reaches all controllers: its page /quorum is malformed"
    if not found:
        return None
    missing = ", ".join(f"{voter[:20]} ({why[:100]})" for voter, why in list(found.items())[:9])
    return f"{name} does not reach controllers {missing}"


async def _get(at: Endpoint) -> bytes:
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(_REQUEST)
        await writer.drain()
        found = b""
        while len(found) < _MOST_BYTES and (more := await reader.read(_MOST_BYTES - len(found))):
            found += more
        return found
    finally:
        writer.close()
