"""HTTP in front of the operations: paths, negotiation, lists in pages, patches by media type, watches as streams."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

import msgspec
import yaml
from aiohttp import web

from . import discovery, errors, http_request, port_forward, selectors, tables, watching
from .deletion import DeleteOptions
from .errors import ApiError, no_such_page
from .faults import Fault, Faults
from .http_request import Asked
from .operations import APPLY, Operations, Write
from .rbac import Authorizer, User
from .resource_types import Registry, ResourceType
from .schema import Json
from .store import Store, Stored, decode, encode
from .subresources import Subresources

LARGEST_BODY: Final = 3 * 1024 * 1024
_JSON: Final = "application/json"
_REVIEWS: Final = "authorization.k8s.io"
_PLAIN_PAGES: Final = ("/healthz", "/livez", "/readyz")
log = logging.getLogger(__name__)

Answer = web.StreamResponse


class HttpSide:
    """Answers requests; runs in the server's event loop only."""

    def __init__(
        self,
        operations: Operations,
        registry: Registry,
        authorizer: Authorizer,
        faults: Faults,
        subresources: Subresources,
    ) -> None:
        self._operations = operations
        self._store: Store = operations.store
        self._registry = registry
        self._authorizer = authorizer
        self._faults = faults
        self._subresources = subresources
        self.address = ""
        self.requests = 0
        self.failures: list[BaseException] = []
        """What was the server's own fault: a test must not mistake it for a refusal."""
        self.watches: set[watching.Watch] = set()

    async def handle(self, request: web.BaseRequest) -> Answer:
        """One request."""
        self.requests += 1
        query = dict(request.query)
        try:
            user = self._authorizer.user(_token(request))
        except ApiError as error:
            return _refused(error)
        agent = request.headers.get("User-Agent", "")
        asked = http_request.read(request.method, request.path, query, user.name, agent)
        fault = self._faults.meet(asked)
        if fault is not None and fault.when == "before":
            interrupted = await self._suffer(fault, asked, request)
            if interrupted is not None:
                return interrupted
        try:
            answer = await self._answer(request, asked, user, fault)
        except ApiError as error:
            answer = _refused(error)
        except (ConnectionResetError, asyncio.CancelledError):
            raise
        except Exception as error:
            log.exception("answering %s", asked)
            self.failures.append(error)
            answer = _refused(ApiError(500, "InternalError", f"Internal error occurred: {error!r}"))
        if fault is not None and fault.when == "after":
            return await self._suffer(fault, asked, request) or answer
        return answer

    async def _suffer(self, fault: Fault, asked: Asked, request: web.BaseRequest) -> Answer | None:
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.hang:
            await asyncio.Event().wait()
        if fault.reset:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("injected for a test")
        return _refused(fault.error(asked)) if fault.status is not None else None

    async def _answer(self, request: web.BaseRequest, asked: Asked, user: User, fault: Fault | None) -> Answer:
        if asked.group == _REVIEWS and asked.verb == "create":
            return _json(self._authorizer.review(user, decode(await request.read())), 201)
        self._authorizer.check(user, asked)
        if not asked.plural:
            return self._page(asked)
        kind = self._registry.find(asked.group, asked.version, asked.plural)
        if kind is None:
            raise no_such_page()
        if asked.verb == "watch":
            return await self._watch(request, kind, asked, fault)
        if asked.resource == "pods/portforward":
            pod = self._operations.get(kind, asked.namespace, asked.name)
            return await port_forward.forward(request, asked, pod)
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            message = f"Request entity too large: limit is {LARGEST_BODY}"
            raise ApiError(413, "RequestEntityTooLarge", message) from error
        if asked.subresource and asked.subresource not in kind.subresources and asked.subresource != "finalize":
            raise no_such_page()
        if asked.subresource in ("scale", "log", "eviction", "binding", "finalize"):
            return self._subresource(kind, asked, body, request)
        match asked.verb:
            case "get":
                stored = self._operations.stored(kind, asked.namespace if kind.namespaced else "", asked.name)
                return self._object(request, kind, stored)
            case "list":
                return self._list(request, kind, asked)
            case "create":
                write = _write(asked)
                made = self._operations.create(kind, asked.namespace, _decoded(body, request), write)
                return _json(made, 201, write.warnings)
            case "update":
                write = _write(asked)
                sent = _decoded(body, request)
                changed = self._operations.replace(kind, asked.namespace, asked.name, sent, write, asked.subresource)
                return _json(changed, 200, write.warnings)
            case "patch":
                return self._patch(request, kind, asked, body, user)
            case "delete":
                options = DeleteOptions.of(_decoded(body, request) if body else {}, asked.query)
                namespace = asked.namespace if kind.namespaced else ""
                last, gone = self._operations.delete(kind, namespace, asked.name, options)
                return _json(_deleted(kind, last) if gone else last, 200)
            case "deletecollection":
                options = DeleteOptions.of(_decoded(body, request) if body else {}, asked.query)
                last_ones = self._operations.delete_all(kind, asked.namespace, self._chosen(kind, asked), options)
                return _json(_list_of(kind, last_ones, self._store.revision), 200)
            case _:
                raise errors.method_not_allowed(kind.group, kind.plural)

    def _subresource(self, kind: ResourceType, asked: Asked, body: bytes, request: web.BaseRequest) -> Answer:
        sent = _decoded(body, request) if body else {}
        answer = self._subresources.answer(kind, asked, sent, _media_type(request), _write(asked))
        if isinstance(answer, str):
            return web.Response(text=answer, content_type="text/plain")
        return _json(answer, 201 if asked.verb == "create" else 200)

    # Pages that are no resources

    def _page(self, asked: Asked) -> Answer:
        path = asked.path.rstrip("/")
        if path in _PLAIN_PAGES:
            return web.Response(text="ok")
        parts = [part for part in path.split("/") if part]
        found: Json | None = None
        match parts:
            case ["version"]:
                found = discovery.VERSION
            case ["api"]:
                found = discovery.core_versions(self.address)
            case ["apis"]:
                found = discovery.groups(self._registry)
            case ["apis", group]:
                found = discovery.group(self._registry, group)
            case ["api", version]:
                found = discovery.resources(self._registry, "", version)
            case ["apis", group, version]:
                found = discovery.resources(self._registry, group, version)
            case ["openapi", "v3"]:
                found = discovery.open_api_index(self._registry)
            case ["openapi", "v3", "api", version]:
                found = discovery.open_api(self._registry, "", version)
            case ["openapi", "v3", "apis", group, version]:
                found = discovery.open_api(self._registry, group, version)
            case []:
                found = {"paths": ["/api", "/apis", "/healthz", "/openapi/v3", "/version"]}
        if found is None or asked.verb not in ("get", "head"):
            raise no_such_page()
        return _json(found, 200)

    # Reading

    def _object(self, request: web.BaseRequest, kind: ResourceType, stored: Stored) -> Answer:
        as_table = _wants_table(request)
        if as_table is not None:
            obj = self._operations.view(kind, stored.obj)
            metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            return _json(tables.table(kind, [obj], metadata, as_table), 200)
        return _raw(self._bytes(kind, stored))

    def _bytes(self, kind: ResourceType, stored: Stored) -> bytes:
        return stored.raw if kind.from_storage is None else encode(self._operations.view(kind, stored.obj))

    def _item(self, kind: ResourceType, stored: Stored) -> bytes:
        return stored.bare if kind.crd is None and kind.from_storage is None else self._bytes(kind, stored)

    def _chosen(self, kind: ResourceType, asked: Asked) -> Callable[[Json], bool] | None:
        """The selectors of a request as one test; nothing where everything matches."""
        selectable = tuple(item["jsonPath"][1:] for item in kind.crd_version.get("selectableFields") or ())
        found = [
            test
            for test in (
                selectors.labels_match(asked.query.get("labelSelector", "")),
                selectors.fields_match(asked.query.get("fieldSelector", ""), kind.table.group, kind.plural, selectable),
            )
            if test is not None
        ]
        if asked.name:
            name = asked.name
            found.append(lambda obj: bool(obj["metadata"]["name"] == name))
        if not found:
            return None
        return lambda obj: all(test(obj) for test in found)

    def _list(self, request: web.BaseRequest, kind: ResourceType, asked: Asked) -> Answer:
        listed = self._store.listing(kind.table, asked.namespace if kind.namespaced else "")
        chosen = self._chosen(kind, asked)
        items = (
            listed.items if chosen is None else [i for i in listed.items if chosen(self._operations.view(kind, i.obj))]
        )
        revision = listed.revision
        wanted = asked.query.get("resourceVersion", "")
        if wanted.isdigit() and int(wanted) > revision:
            raise ApiError(504, "Timeout", f"Too large resource version: {wanted}, current: {revision}", retry_after=1)
        metadata: Json = {"resourceVersion": str(revision)}
        limit = int(asked.query.get("limit") or 0)
        if asked.query.get("continue"):
            revision, after = _continued(asked.query["continue"])
            metadata["resourceVersion"] = str(revision)
            items = [item for item in items if _place(item) > after]
        if limit and len(items) > limit:
            metadata["remainingItemCount"] = len(items) - limit
            items = items[:limit]
            metadata["continue"] = _continuation(revision, _place(items[-1]))
        as_table = _wants_table(request)
        if as_table is not None:
            objs = [self._operations.view(kind, item.obj) for item in items]
            return _json(tables.table(kind, objs, metadata, as_table), 200)
        head = encode({"kind": kind.listed_as, "apiVersion": kind.api_version, "metadata": metadata})
        return _raw(head[:-1] + b',"items":[' + b",".join(self._item(kind, item) for item in items) + b"]}")

    async def _watch(self, request: web.BaseRequest, kind: ResourceType, asked: Asked, fault: Fault | None) -> Answer:
        watch = watching.Watch(
            self._operations,
            kind,
            asked,
            self._chosen(kind, asked),
            _wants_table(request),
            fault,
            asyncio.get_running_loop(),
        )
        self.watches.add(watch)
        try:
            return await watch.stream(request)
        finally:
            self.watches.discard(watch)

    # Patching

    def _patch(self, request: web.BaseRequest, kind: ResourceType, asked: Asked, body: bytes, user: User) -> Answer:
        media_type = _media_type(request)
        if media_type == "application/apply-patch+cbor":
            raise errors.unsupported_media(APPLY, media_type)
        sent = yaml.safe_load(body) if media_type == APPLY and body[:1] != b"{" else _decoded(body, request)
        if media_type == APPLY and not asked.query.get("fieldManager"):
            detail = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
            raise ApiError(422, "Invalid", detail)
        namespace = asked.namespace if kind.namespaced else ""
        if media_type == APPLY and self._store.get(kind.table, (namespace, asked.name)) is None:
            self._authorizer.check(user, replace(asked, verb="create"))
        write = _write(asked)
        changed, made = self._operations.patch(kind, namespace, asked.name, media_type, sent, write, asked.subresource)
        return _json(changed, 201 if made else 200, write.warnings)


def _place(item: Stored) -> tuple[str, str]:
    metadata = item.obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _continuation(revision: int, after: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(encode([revision, *after])).decode()


def _continued(token: str) -> tuple[int, tuple[str, str]]:
    try:
        revision, namespace, name = decode(base64.urlsafe_b64decode(token))
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise errors.bad_request(f"continue key is not valid: {error}") from error
    return revision, (namespace, name)


def _token(request: web.BaseRequest) -> str | None:
    header = request.headers.get("Authorization", "")
    return header[7:].strip() if header.startswith("Bearer ") else None


def _media_type(request: web.BaseRequest) -> str:
    return request.headers.get("Content-Type", "").partition(";")[0].strip()


def _wants_table(request: web.BaseRequest) -> str | None:
    """How much of the object goes into the rows of a table; nothing where no table is asked for."""
    accepted = request.headers.get("Accept", "")
    if "as=Table" not in accepted.partition(",")[0]:
        return None
    return request.query.get("includeObject", "Metadata")


def _decoded(body: bytes, request: web.BaseRequest) -> Any:
    try:
        if "yaml" in _media_type(request) and body[:1] != b"{":
            return yaml.safe_load(body)
        return decode(body)
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        raise errors.bad_request(f"the object provided is unrecognized (must be of type JSON): {error}") from error


def _write(asked: Asked) -> Write:
    query = asked.query
    return Write(
        manager=query.get("fieldManager") or asked.agent.partition("/")[0] or "unknown",
        dry_run="dryRun" in query,
        validation=query.get("fieldValidation") or "Warn",
        force=query.get("force", "").lower() in ("true", "1"),
    )


def _raw(data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=data, status=status, headers={"Content-Type": _JSON, **(headers or {})})


def _json(obj: Json, status: int, warnings: Iterable[str] = ()) -> web.Response:
    response = _raw(encode(obj), status)
    for warning in warnings:
        response.headers.add("Warning", '299 - "' + warning.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return response


def _refused(error: ApiError) -> web.Response:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else None
    return _raw(encode(error.status()), error.code, headers)


def _deleted(kind: ResourceType, last: Json) -> Json:
    details = {
        "name": last["metadata"]["name"],
        "group": kind.group,
        "kind": kind.plural,
        "uid": last["metadata"]["uid"],
    }
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _list_of(kind: ResourceType, objs: list[Json], revision: int) -> Json:
    metadata = {"resourceVersion": str(revision)}
    return {"kind": kind.listed_as, "apiVersion": kind.api_version, "metadata": metadata, "items": objs}
