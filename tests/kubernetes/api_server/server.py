"""The server: a thread with an event loop behind a port on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web

from .controllers import Controllers
from .deletion import DeleteOptions
from .faults import Fault, Faults
from .http_side import LARGEST_BODY, HttpSide
from .operations import Operations, Write
from .rbac import Authorizer
from .resource_types import Registry, ResourceType
from .schema import Json
from .store import HISTORY, Store
from .subresources import Subresources
from .watching import Watch

_START_SECONDS: Final = 10.0
_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_PREPARED: Final = Write(manager="test", validation="Strict")


@functools.lru_cache(maxsize=64)
def _documents(text: str) -> tuple[Json, ...]:
    """Of YAML, read once: most tests start by applying the same definitions."""
    return tuple(obj for obj in yaml.safe_load_all(text) if obj is not None)


class ApiServer:
    """``with ApiServer() as api:`` and it answers at ``api.url`` until the end of the block.

    Beside HTTP, tests prepare and look at its state through ``create``, ``get``, ``objects``, ``patch`` and ``delete``.
    """

    def __init__(self, history: int = HISTORY) -> None:
        self.store = Store(history)
        self.registry = Registry()
        self.operations = Operations(self.store, self.registry)
        self.authorizer = Authorizer()
        self.faults = Faults()
        self.subresources = Subresources(self.operations)
        self.controllers = Controllers(self.operations)
        self.url = ""
        self._side = HttpSide(self.operations, self.registry, self.authorizer, self.faults, self.subresources)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._ended: asyncio.Event | None = None
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kube-apiserver", daemon=True)

    # Life

    def __enter__(self) -> ApiServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> ApiServer:
        """Serves once this returns."""
        for name in _NAMESPACES:
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.controllers.start()
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise TimeoutError(f"the API server did not start within {_START_SECONDS} s")
        if self._failed is not None:
            raise self._failed
        return self

    def stop(self) -> None:
        """And tells what went wrong inside: a fault of the server is no result of a test."""
        ended = self._ended
        if ended is not None:
            self._loop.call_soon_threadsafe(ended.set)
        self._thread.join()
        self.controllers.stop()
        failures = [*self._side.failures, *self.controllers.failures]
        if failures:
            raise ExceptionGroup("the API server failed", [error for error in failures if isinstance(error, Exception)])

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._failed = error
            self._ready.set()
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        server = web.Server(
            self._side.handle, request_factory=self._request, handler_cancellation=True, access_log=None
        )
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=512)
        await site.start()
        port = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"
        self._side.address = f"127.0.0.1:{port}"
        self._ready.set()
        await self._ended.wait()
        for watch in list(self._side.watches):
            watch.cut()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(runner.cleanup(), 5)

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=LARGEST_BODY)

    # Clients

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
        """Writes one and returns its path."""
        user = {"token": token} if token is not None else {}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": self.url}}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
            "current-context": "test",
        }
        path.write_text(yaml.safe_dump(config), "utf-8")
        return path

    # Faults

    def fault(self, **what: Any) -> Fault:
        """Puts a fault in force: ``api.fault(verb="patch", resource="pods", status=409, times=2)``."""
        return self.faults.add(Fault(**what))

    def cut_watches(self, plural: str | None = None) -> int:
        """Ends the watches that are open (of one resource) without a word; says how many."""
        chosen = self.watches(plural)
        for watch in chosen:
            watch.cut()
        return len(chosen)

    def watches(self, plural: str | None = None) -> list[Watch]:
        """Those that are open (of one resource)."""
        return [watch for watch in list(self._side.watches) if plural in (None, watch.asked.plural)]

    @property
    def requests(self) -> int:
        """How many there were."""
        return self._side.requests

    # State, without HTTP

    def kind(self, api_version: str, kind: str) -> ResourceType:
        """A resource by what its objects say of themselves."""
        found = self.registry.of_kind(api_version, kind)
        if found is None:
            raise LookupError(f"{kind} in {api_version} is not served: apply its CustomResourceDefinition first")
        return found

    def create(self, obj: Json) -> Json:
        """As if posted."""
        kind = self.kind(obj["apiVersion"], obj["kind"])
        return self.operations.create(kind, obj["metadata"].get("namespace", ""), obj, _PREPARED)

    def apply_file(self, *paths: Path) -> None:
        """Creates every object of some manifests."""
        for path in paths:
            for obj in _documents(path.read_text("utf-8")):
                self.create(obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Json | None:
        """The object, if it is there."""
        found = self.kind(api_version, kind)
        stored = self.store.get(found.table, (namespace, name))
        return None if stored is None else self.operations.view(found, stored.obj)

    def objects(self, api_version: str, kind: str, namespace: str = "") -> list[Json]:
        """All of a kind."""
        found = self.kind(api_version, kind)
        return [self.operations.view(found, item.obj) for item in self.store.listing(found.table, namespace).items]

    def patch(self, api_version: str, kind: str, name: str, namespace: str, body: Json, subresource: str = "") -> Json:
        """A merge patch."""
        found = self.kind(api_version, kind)
        media_type = "application/merge-patch+json"
        return self.operations.patch(found, namespace, name, media_type, body, _PREPARED, subresource)[0]

    def delete(self, api_version: str, kind: str, name: str, namespace: str = "", **options: Any) -> bool:
        """Whether it is gone at once."""
        return self.operations.delete(self.kind(api_version, kind), namespace, name, DeleteOptions(**options))[1]

    def settle(self) -> None:
        """Waits until garbage collection and the like have nothing left to do."""
        self.controllers.settle()
