"""What a ZooKeeper server says of itself: ``mntr``, one of its four-letter words, sent on the port of its clients."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from highwater_operator.java_server import NotServingError
from highwater_runtime.ports import Endpoint

COMMANDS: Final = ("mntr", "ruok", "srvr")
"""Words that servers are configured to answer."""

_MOST_BYTES: Final = 1 << 16
_SERVES: Final = frozenset({"leader", "follower", "standalone"})


@dataclass(frozen=True, slots=True)
class Monitored:
    """``state``: leader, follower or standalone. ``synced_followers``: of a leader, how many followers have all that it
    has. ``values``: every number of the response, by ZooKeeper's name for it."""

    state: str
    synced_followers: int
    values: Mapping[str, float]


async def monitored(server: Endpoint, timeout_s: float) -> Monitored:
    """Ask a server for its ``mntr``.

    Raises:
        NotServingError: see there.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return parse_monitored(await _ask(server, "mntr"))
    except TimeoutError:
        raise NotServingError(f"no answer within {timeout_s:g} s") from None
    except OSError as error:
        raise NotServingError(error.strerror or str(error)) from error


def parse_monitored(text: str) -> Monitored:
    """Read the response: a line for each value, name and value separated by a tab."""
    lines = dict(line.partition("\t")[::2] for line in text.splitlines() if "\t" in line)
    state = lines.get("zk_server_state", "")
    if state not in _SERVES:
        raise NotServingError(f"it says {text.strip().splitlines()[0][:100]!r}" if text.strip() else "it says nothing")
    values = {name: number for name, value in lines.items() if (number := _number(value)) is not None}
    return Monitored(state, int(values.get("zk_synced_followers", 0)), values)


async def _ask(server: Endpoint, word: str) -> str:
    reader, writer = await asyncio.open_connection(server.host, server.port)
    try:
        writer.write(word.encode())
        await writer.drain()
        found = b""
        while len(found) < _MOST_BYTES and (more := await reader.read(_MOST_BYTES - len(found))):
            found += more
        return found.decode("utf-8", "replace")
    finally:
        writer.close()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
