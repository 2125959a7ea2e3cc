"""HTTP in front of the operations: paths, lists in pages, patches by media type, watches as streams."""

from __future__ import annotations

import asyncio
import base64
import logging
from typing import Any, Final

import msgspec
from aiohttp import web

from . import errors, http_request, port_forward, scales, selectors, tables
from .errors import ApiError, Json, no_such_page
from .faults import Fault, Faults
from .http_request import Asked
from .kinds import BUDGETS, Kind, Table
from .operations import Operations, Write
from .rbac import Authorizer, User
from .store import Stored, decode, encode
from .watching import Watch

_PARAMETERS: Final = frozenset(
    (
        *("watch", "resourceVersion", "timeoutSeconds", "allowWatchBookmarks", "labelSelector", "fieldSelector"),
        *("limit", "continue", "fieldManager", "fieldValidation", "force", "container", "ports", "timeout"),
        *("previous", "limitBytes"),
        *("gracePeriodSeconds", "propagationPolicy"),
    )
)
"""What may be asked for with a URL. Anything else (``dryRun``) is refused, rather than ignored."""
LARGEST_BODY: Final = 3 * 1024 * 1024
log = logging.getLogger(__name__)


class HttpSide:
    """Answers requests, in the server's event loop only."""

    def __init__(self, operations: Operations, authorizer: Authorizer, faults: Faults) -> None:
        self._operations = operations
        self._store = operations.store
        self._registry = operations.registry
        self._authorizer = authorizer
        self._faults = faults
        self.logs: Any = lambda pod, container: ""
        self.previous_logs: Any = lambda pod, container: None
        self.failures: list[Exception] = []
        """The server's own faults: a test must not mistake them for a refusal."""
        self.watches: set[Watch] = set()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            user = self._authorizer.user(token)
        except ApiError as error:
            return _refused(error)
        agent = request.headers.get("User-Agent", "")
        asked = http_request.read(request.method, request.path, dict(request.query), user.name, agent)
        fault = self._faults.meet(asked)
        if fault is not None and fault.when == "before":
            interrupted = self._suffer(fault, asked, request)
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
            return self._suffer(fault, asked, request) or answer
        return answer

    @staticmethod
    def _suffer(fault: Fault, asked: Asked, request: web.BaseRequest) -> web.Response | None:
        if fault.reset:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("injected for a test")
        return None if fault.status is None else _refused(fault.error(asked))

    async def _answer(
        self, request: web.BaseRequest, asked: Asked, user: User, fault: Fault | None
    ) -> web.StreamResponse:
        if asked.plural == "selfsubjectaccessreviews":
            return _json(self._authorizer.review(user, decode(await request.read())), 201)
        self._authorizer.check(user, asked)
        if unknown := sorted(asked.query.keys() - _PARAMETERS):
            raise NotImplementedError(f"the stand-in API server does not know {unknown} of {asked}")
        if not asked.plural:
            page = self._registry.page([part for part in asked.path.split("/") if part])
            if page is None:
                raise no_such_page()
            return _json(page)
        kind = self._registry.find(asked.group, asked.version, asked.plural)
        if kind is None or (asked.subresource and asked.subresource not in kind.subresources):
            raise no_such_page()
        chosen = selectors.selected(
            asked.query.get("labelSelector", ""), asked.query.get("fieldSelector", ""), kind.plural
        )
        namespace = asked.namespace if kind.namespaced else ""
        body = await request.read()
        match asked.verb, asked.subresource:
            case "watch", "":
                return await self._watch(request, Watch(self._store, kind, asked, chosen, fault))
            case "list", "":
                return self._list(request, kind, asked, chosen)
            case "get", "portforward":
                return await port_forward.forward(request, asked, self._stored(kind, asked).obj)
            case "get", "log":
                pod, container = self._stored(kind, asked).obj, asked.query.get("container", "")
                if asked.query.get("previous") == "true":
                    text = self.previous_logs(pod, container)
                    if text is None:
                        name = pod["metadata"]["name"]
                        said = f'previous terminated container "{container}" in pod "{name}" not found'
                        raise errors.ApiError(400, "BadRequest", said)
                else:
                    text = self.logs(pod, container)
                text = text[: int(asked.query.get("limitBytes") or len(text))]
                return web.Response(text=text, content_type="text/plain")
            case "get", "scale":
                return _json(scales.scale_of(kind, self._stored(kind, asked).obj))
            case "get", _:
                return _raw(self._stored(kind, asked).raw)
            case "create", "eviction":
                return self._evict(kind, asked, _decoded(body))
            case "create", "":
                write = _write(asked)
                self._check_binding(user, asked, _decoded(body))
                made = self._operations.create(kind, namespace, _decoded(body), write)
                return _json(made, 201, write.warnings)
            case "patch", _:
                return self._patch(request, kind, asked, _decoded(body), user)
            case "delete", "" if asked.name:
                return self._delete(kind, asked, {**asked.query, **(_decoded(body) if body else {})})
        raise errors.about(405, "MethodNotAllowed", kind.group, kind.plural, "", "{} does not allow this method here")

    def _stored(self, kind: Kind, asked: Asked) -> Stored:
        return self._operations.stored(kind, asked.namespace, asked.name)

    def _list(self, request: web.BaseRequest, kind: Kind, asked: Asked, chosen: Any) -> web.Response:
        items, revision = self._store.listing(kind.table, asked.namespace if kind.namespaced else "")
        items = [item for item in items if chosen(item.obj)]
        if "as=Table" in request.headers.get("Accept", ""):
            return _json(tables.table(kind, [item.obj for item in items]))
        metadata: Json = {"resourceVersion": str(revision)}
        if "continue" in asked.query:
            after = decode(base64.urlsafe_b64decode(asked.query["continue"]))
            items = [item for item in items if _place(item) > after]
        limit = int(asked.query.get("limit") or 0)
        if limit and len(items) > limit:
            items = items[:limit]
            metadata["continue"] = base64.urlsafe_b64encode(encode(_place(items[-1]))).decode()
        head = encode({"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata})
        found = b",".join(item.raw if kind.custom else item.bare for item in items)
        return _raw(head[:-1] + b',"items":[' + found + b"]}")

    async def _watch(self, request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
        self.watches.add(watch)
        try:
            return await watch.stream(request)
        finally:
            self.watches.discard(watch)

    def _patch(self, request: web.BaseRequest, kind: Kind, asked: Asked, body: Any, user: User) -> web.Response:
        media_type, namespace = request.content_type, asked.namespace if kind.namespaced else ""
        if media_type == "application/apply-patch+yaml":
            if "fieldManager" not in asked.query:
                raise ApiError(422, "Invalid", "fieldManager: Required value: is required for apply patch")
            if self._store.get(kind.table, (namespace, asked.name)) is None:
                self._authorizer.check(user, asked, verb="create")
        self._check_binding(user, asked, body)
        write = _write(asked)
        if asked.subresource == "scale":
            patch = scales.patch_of(kind, body)
            changed, _ = self._operations.patch(kind, namespace, asked.name, media_type, patch, write)
            return _json(scales.scale_of(kind, changed), 200, write.warnings)
        changed, made = self._operations.patch(kind, namespace, asked.name, media_type, body, write, asked.subresource)
        return _json(changed, 201 if made else 200, write.warnings)

    def _check_binding(self, user: User, asked: Asked, body: Any) -> None:
        if asked.plural != "rolebindings" or user is self._authorizer.everyone:
            return
        reference = body["roleRef"]
        plural = f"{reference['kind'].lower()}s"
        place = asked.namespace if plural == "roles" else ""
        role = self._store.get(Table(reference["apiGroup"], plural), (place, reference["name"]))
        binding = {**body, "metadata": {**body.get("metadata", {}), "namespace": asked.namespace}}
        self._authorizer.check_binding(user, binding, None if role is None else role.obj)

    def _evict(self, kind: Kind, asked: Asked, eviction: Json) -> web.Response:
        labels = self._stored(kind, asked).obj["metadata"].get("labels") or {}
        for budget in self._store.listing(BUDGETS, asked.namespace)[0]:
            wanted = budget.obj["spec"].get("selector", {}).get("matchLabels") or {}
            allowed = (budget.obj.get("status") or {}).get("disruptionsAllowed", 0)
            if wanted.items() <= labels.items() and not allowed:
                why = f"The disruption budget {budget.obj['metadata']['name']} needs more healthy pods"
                what = f"Cannot evict pod as it would violate the pod's disruption budget. {why}"
                raise errors.ApiError(429, "TooManyRequests", what)
        return self._delete(kind, asked, eviction.get("deleteOptions") or {})

    def _delete(self, kind: Kind, asked: Asked, options: Json) -> web.Response:
        propagation = options.get("propagationPolicy")
        if propagation not in (None, "Background"):
            raise NotImplementedError(f"the stand-in API server does not know propagationPolicy {propagation!r}")
        last, gone = self._operations.delete(
            kind,
            asked.namespace,
            asked.name,
            grace=options.get("gracePeriodSeconds"),
            uid=(options.get("preconditions") or {}).get("uid"),
            propagation=propagation,
        )
        details = {"name": asked.name, "kind": kind.plural, "uid": last["metadata"]["uid"]}
        return _json({"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details} if gone else last)


def _place(item: Stored) -> list[str]:
    return [item.obj["metadata"].get("namespace", ""), item.obj["metadata"]["name"]]


def _decoded(body: bytes) -> Any:
    try:
        return decode(body)
    except msgspec.DecodeError as error:
        raise errors.bad_request(f"the object provided is unrecognized (must be of type JSON): {error}") from error


def _write(asked: Asked) -> Write:
    query = asked.query
    manager = query.get("fieldManager") or asked.agent.partition("/")[0] or "unknown"
    return Write(manager, strict=query.get("fieldValidation") == "Strict", force=query.get("force") == "true")


def _raw(data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=data, status=status, headers={"Content-Type": "application/json", **(headers or {})})


def _json(obj: Json, status: int = 200, warnings: list[str] | None = None) -> web.Response:
    response = _raw(encode(obj), status)
    for warning in warnings or ():
        response.headers.add("Warning", '299 - "' + warning.replace('"', '\\"') + '"')
    return response


def _refused(error: ApiError) -> web.Response:
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else None
    return _raw(encode(error.status()), error.code, headers)
