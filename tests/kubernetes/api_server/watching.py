"""A watch: what has happened since the version that the client knows, and then everything that happens.

With a selector an object may come into view and go out of it; for this watch it is then ADDED and DELETED. A client
that allows bookmarks gets one at the beginning and one before the watch times out.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from .errors import ApiError, Json, expired
from .faults import Fault
from .http_request import Asked
from .kinds import Kind
from .selectors import Predicate
from .store import Change, Store, Stored, encode

_LONGEST_SECONDS: Final = 1800.0


class Watch:
    """One stream."""

    def __init__(self, store: Store, kind: Kind, asked: Asked, chosen: Predicate, fault: Fault | None) -> None:
        self.asked = asked
        self._store = store
        self._kind = kind
        self._chosen = chosen
        self._fault = fault or Fault()
        self._loop = asyncio.get_running_loop()
        self._wakened = asyncio.Event()
        self._cut = False
        self._sent = 0

    def cut(self) -> None:
        """End the connection without a word, from any thread."""
        self._cut = True
        self._wake()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wakened.set)

    async def stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """Write events until the client has enough, or its time is over."""
        namespace = self.asked.namespace if self._kind.namespaced else ""
        since, initial = int(self.asked.query.get("resourceVersion") or 0), list[Stored]()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        with self._store.lock:
            if since == 0:
                initial, since = self._store.listing(self._kind.table, namespace)
            try:
                subscription = self._store.follow(self._kind.table, since, self._wake)
            except ApiError as error:
                await response.write(_line("ERROR", error.status()))
                await response.write_eof()
                return response
        try:
            lines = [_event("ADDED", one) for one in initial if self._chosen(one.obj)]
            await self._bookmark(response, since)
            async with asyncio.timeout(float(self.asked.query.get("timeoutSeconds") or _LONGEST_SECONDS)):
                while await self._write(response, lines):
                    await self._wakened.wait()
                    self._wakened.clear()
                    seen = [self._seen(change) for change in subscription.take() if namespace in ("", change.name[0])]
                    lines = [line for line in seen if line is not None]
        except TimeoutError:
            with self._store.lock:
                until = self._store.revision if not subscription.take() else None
            if until is not None:
                await self._bookmark(response, until)
        finally:
            self._store.unfollow(subscription)
        if self._cut and request.transport is not None:
            request.transport.abort()
        else:
            await response.write_eof()
        return response

    async def _bookmark(self, response: web.StreamResponse, revision: int) -> None:
        """Say up to which version the client has seen everything, if it allows that."""
        if self.asked.query.get("allowWatchBookmarks") == "true":
            head = {"kind": self._kind.kind, "apiVersion": self._kind.api_version}
            await response.write(_line("BOOKMARK", head | {"metadata": {"resourceVersion": str(revision)}}))

    async def _write(self, response: web.StreamResponse, lines: list[bytes]) -> bool:
        """Write until a fault ends the stream; whether it goes on."""
        for line in [*lines, b""]:
            if self._sent == self._fault.end_watch_after:
                self._cut = True
            if self._sent == self._fault.expire_watch_after:
                await response.write(_line("ERROR", expired("injected for a test: too old resource version").status()))
                return False
            if self._cut:
                return False
            if line:
                await response.write(line)
                self._sent += 1
        return True

    def _seen(self, change: Change) -> bytes | None:
        before = change.old is not None and self._chosen(change.old.obj)
        after = change.kind != "DELETED" and self._chosen(change.new.obj)
        if after:
            return _event("MODIFIED" if before else "ADDED", change.new)
        if not before or change.old is None:
            return None
        # What goes out of view is shown as it was in view, with the version at which it went.
        version = {"resourceVersion": change.new.obj["metadata"]["resourceVersion"]}
        return _line("DELETED", change.old.obj | {"metadata": change.old.obj["metadata"] | version})


def _event(name: str, stored: Stored) -> bytes:
    return b'{"type":"' + name.encode() + b'","object":' + stored.raw + b"}\n"


def _line(name: str, obj: Json) -> bytes:
    return encode({"type": name, "object": obj}) + b"\n"
