"""A watch: what was, from the version that the client knows, and then everything that happens.

With selectors an object may come into view and go out of it: it is then ADDED and DELETED for this watch, as on a real
server. Bookmarks tell clients that want them how far they are.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

from aiohttp import web

from . import errors, tables
from .errors import ApiError
from .faults import Fault
from .http_request import Asked
from .operations import Operations
from .resource_types import ResourceType
from .schema import Json
from .store import Change, Stored, encode

_INITIAL_END: Final = "k8s.io/initial-events-end"
_BOOKMARK_SECONDS: Final = 30.0


class Watch:
    """One stream."""

    def __init__(
        self,
        operations: Operations,
        kind: ResourceType,
        asked: Asked,
        chosen: Callable[[Json], bool] | None,
        as_table: str | None,
        fault: Fault | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._operations = operations
        self._store = operations.store
        self._kind = kind
        self.asked = asked
        self._chosen = chosen
        self._as_table = as_table
        self._headers_sent = False
        self._fault = fault
        self._loop = loop
        self._wakened = asyncio.Event()
        self._sent = 0
        self._cut = False
        self._over = False

    def cut(self) -> None:
        """Ends the connection without a word, from any thread."""
        self._cut = True
        self._wake()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wakened.set)

    async def stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """Until the client has enough or its time is over."""
        query = self.asked.query
        version = query.get("resourceVersion", "")
        if version and not version.isdigit():
            problem = f'resourceVersion: Invalid value: "{version}": must be a number'
            raise errors.bad_request(f"unable to watch: {problem}")
        namespace = self.asked.namespace if self._kind.namespaced else ""
        initial: list[Stored] = []
        bookmarks = query.get("allowWatchBookmarks", "").lower() in ("true", "1")
        initial_asked = query.get("sendInitialEvents", "").lower() in ("true", "1")
        expired: ApiError | None = None
        subscription = None
        with self._store.lock:
            since = int(version or 0)
            if since == 0 or initial_asked:
                if query.get("sendInitialEvents", "").lower() not in ("false", "0"):
                    initial = self._store.listing(self._kind.table, namespace).items
                since = self._store.revision
            try:
                if since > self._store.revision:
                    raise errors.expired(f"too large resource version: {since}")
                subscription = self._store.follow(self._kind.table, since, self._wake)
            except ApiError as error:
                expired = error
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        await response.prepare(request)
        if expired is not None:
            await response.write(_line("ERROR", expired.status()))
            await response.write_eof()
            return response
        assert subscription is not None
        seconds = float(query.get("timeoutSeconds") or 0) or random.uniform(1800, 3600)
        deadline = self._loop.time() + seconds
        try:
            first = [self._event("ADDED", item) for item in initial if self._sees(item.obj)]
            if initial_asked and bookmarks:
                first.append(self._bookmark(since, {_INITIAL_END: "true"}))
            await self._write(response, request, first)
            at = since
            while not self._cut and not self._over:
                self._wakened.clear()
                changes = subscription.take()
                if changes:
                    at = changes[-1].revision
                    lines = [line for change in changes if (line := self._seen(change, namespace)) is not None]
                    await self._write(response, request, lines)
                    continue
                left = deadline - self._loop.time()
                if left <= 0:
                    break
                try:
                    await asyncio.wait_for(self._wakened.wait(), min(left, _BOOKMARK_SECONDS))
                except TimeoutError:
                    if bookmarks:
                        at = max(at, self._operations.store.revision if not subscription.pending() else at)
                        await self._write(response, request, [self._bookmark(at, {})])
            if self._cut:
                _abort(request)
                return response
            await response.write_eof()
        finally:
            self._store.unfollow(subscription)
        return response

    def _sees(self, obj: Json) -> bool:
        return self._chosen is None or self._chosen(self._operations.view(self._kind, obj))

    def _seen(self, change: Change, namespace: str) -> bytes | None:
        if namespace and change.name[0] != namespace:
            return None
        if self._chosen is None:
            return self._event(change.kind, change.new)
        before = change.old is not None and self._sees(change.old.obj)
        after = change.kind != "DELETED" and self._sees(change.new.obj)
        match before, after:
            case False, False:
                return None
            case False, True:
                return self._event("ADDED", change.new)
            case True, True:
                return self._event("MODIFIED", change.new)
            case _:
                return self._event("DELETED", self._last_seen(change))

    @staticmethod
    def _last_seen(change: Change) -> Stored:
        """What went out of view is told as it was in view, at the version at which it went."""
        if change.kind == "DELETED" or change.old is None:
            return change.new
        version = change.new.obj["metadata"]["resourceVersion"]
        obj = {**change.old.obj, "metadata": {**change.old.obj["metadata"], "resourceVersion": version}}
        return Stored(obj, change.revision)

    def _event(self, name: str, stored: Stored) -> bytes:
        if self._as_table is not None:
            obj = self._operations.view(self._kind, stored.obj)
            metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            shown = tables.table(self._kind, [obj], metadata, self._as_table, headers=not self._headers_sent)
            self._headers_sent = True
            return _line(name, shown)
        raw = stored.raw
        if self._kind.from_storage is not None:
            raw = encode(self._kind.from_storage(stored.obj))
        return b'{"type":"' + name.encode() + b'","object":' + raw + b"}\n"

    def _bookmark(self, revision: int, annotations: dict[str, str]) -> bytes:
        metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        obj = {"kind": self._kind.kind, "apiVersion": self._kind.api_version, "metadata": metadata}
        return _line("BOOKMARK", obj)

    async def _write(self, response: web.StreamResponse, request: web.BaseRequest, lines: list[bytes]) -> None:
        fault = self._fault
        if fault is None or (fault.end_watch_after is None and fault.expire_watch_after is None):
            if lines:
                await response.write(b"".join(lines))
            return
        for line in [*lines, b""]:
            if fault.end_watch_after is not None and self._sent >= fault.end_watch_after:
                self._cut = True
                self._wake()
                return
            if fault.expire_watch_after is not None and self._sent >= fault.expire_watch_after:
                gone = errors.expired("injected for a test: too old resource version")
                await response.write(_line("ERROR", gone.status()))
                self._over = True
                self._wake()
                return
            if line:
                await response.write(line)
                self._sent += 1


def _abort(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()


def _line(name: str, obj: Json) -> bytes:
    return encode({"type": name, "object": obj}) + b"\n"
