"""The server: a thread with an event loop behind a port on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import threading
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web

from .errors import Json
from .faults import Fault, Faults
from .http_side import LARGEST_BODY, HttpSide
from .kinds import CRDS, Kind, Registry
from .operations import MERGE, Operations, Write
from .rbac import Authorizer
from .store import Store
from .watching import Watch

_START_SECONDS: Final = 60.0
_NAMESPACES: Final = ("default", "kube-system", "kube-public")
_BY_TEST: Final = Write(manager="test", strict=True)


_CHECKED: Final = Write(manager="test", trusted=True)


@functools.lru_cache(maxsize=64)
def _documents(text: str) -> tuple[Json, ...]:
    """Of YAML, read once, and definitions checked once: most tests begin with the same."""
    return tuple(_checked(obj) for obj in yaml.load_all(text, yaml.CSafeLoader) if obj is not None)


def _checked(obj: Json) -> Json:
    """A definition as a server keeps it; anything else as it is."""
    if obj["kind"] != "CustomResourceDefinition":
        return obj
    registry = Registry()
    return Operations(Store(), registry).create(registry.of_kind(obj["apiVersion"], obj["kind"]), "", obj, _BY_TEST)


class ApiServer:
    """``with ApiServer() as api:`` and it answers at ``api.url`` until the end of the block.

    Tests prepare and read its state without HTTP: ``create``, ``get``, ``objects``, ``patch``, ``delete``.
    """

    def __init__(self) -> None:
        self.store = Store()
        self.registry = Registry()
        self.operations = Operations(self.store, self.registry)
        self.authorizer = Authorizer()
        self.faults = Faults()
        self.http = HttpSide(self.operations, self.authorizer, self.faults)
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="kube-apiserver", daemon=True)

    # --- life ---

    def __enter__(self) -> ApiServer:
        for name in _NAMESPACES:
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._thread.start()
        if not self._ready.wait(_START_SECONDS) or not self.url:
            raise TimeoutError(f"the API server did not start within {_START_SECONDS} s")
        return self

    def __exit__(self, *_: object) -> None:
        """Raises ExceptionGroup if the server itself has failed: that is no result of a test."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        if self.http.failures:
            raise ExceptionGroup("the API server failed", self.http.failures)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        server = web.Server(self.http.handle, request_factory=self._request, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=512).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._ready.set()
        await self._ended.wait()
        self.cut_watches()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(runner.cleanup(), 5)

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=LARGEST_BODY)

    # --- clients ---

    def configuration(self, token: str | None = None) -> Any:
        """A ``kubernetes.client.Configuration``."""
        from kubernetes import client

        made = client.Configuration()
        made.host = self.url
        made.verify_ssl = False
        if token is not None:
            made.api_key = {"authorization": f"Bearer {token}", "BearerToken": f"Bearer {token}"}
        return made

    def kubeconfig(self, path: Path, token: str | None = None, namespace: str = "default") -> Path:
        """Write one; return its path."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": self.url}}],
            "users": [{"name": "test", "user": {"token": token} if token is not None else {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
            "current-context": "test",
        }
        path.write_text(yaml.safe_dump(config), "utf-8")
        return path

    # --- faults ---

    def fault(self, **what: Any) -> Fault:
        """Put a fault in force: ``api.fault(verb="patch", resource="pods", status=409, times=2)``."""
        return self.faults.add(Fault(**what))

    def cut_watches(self, plural: str | None = None) -> int:
        """End the watches that are open (of one resource) without a word; return how many."""
        chosen = self.watches(plural)
        for watch in chosen:
            watch.cut()
        return len(chosen)

    def watches(self, plural: str | None = None) -> list[Watch]:
        """Those that are open (of one resource)."""
        return [watch for watch in list(self.http.watches) if plural in (None, watch.asked.plural)]

    # --- state, without HTTP ---

    def _kind(self, api_version: str, kind: str) -> Kind:
        return self.registry.of_kind(api_version, kind)

    def create(self, obj: Json) -> Json:
        kind = self._kind(obj["apiVersion"], obj["kind"])
        return self.operations.create(kind, obj["metadata"].get("namespace", ""), obj, _BY_TEST)

    def apply_file(self, *paths: Path) -> None:
        """Create every object of some manifests."""
        for path in paths:
            for obj in _documents(path.read_text("utf-8")):
                kind = self._kind(obj["apiVersion"], obj["kind"])
                checked = kind.table == CRDS  # what is kept of its schema serves all tests
                made, write = (obj, _CHECKED) if checked else (copy.deepcopy(obj), _BY_TEST)
                self.operations.create(kind, obj["metadata"].get("namespace", ""), made, write)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Json | None:
        table = self._kind(api_version, kind).table
        stored = self.store.get(table, (namespace, name))
        if stored is None:
            return None
        return copy.deepcopy(stored.obj) if table == CRDS else stored.obj  # other tests have the same definitions

    def objects(self, api_version: str, kind: str, namespace: str = "") -> list[Json]:
        return [item.obj for item in self.store.listing(self._kind(api_version, kind).table, namespace)[0]]

    def patch(self, api_version: str, kind: str, name: str, namespace: str, body: Json, subresource: str = "") -> Json:
        """A merge patch."""
        found = self._kind(api_version, kind)
        return self.operations.patch(found, namespace, name, MERGE, body, _BY_TEST, subresource)[0]

    def delete(self, api_version: str, kind: str, name: str, namespace: str = "", grace: int | None = None) -> bool:
        """Whether it is gone at once."""
        return self.operations.delete(self._kind(api_version, kind), namespace, name, grace=grace)[1]
