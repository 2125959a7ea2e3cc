"""The API server as the operator uses it: a few verbs on plain objects, from asyncio, with patience.

Every write names the field manager ``highwater-operator``. What a bad day brings (429, 5xx, time-outs, cut connections)
is tried again for a while, with growing pauses, and then becomes :class:`Unavailable`; a caller that is reconciling
just comes back later. A write whose answer was lost may have been carried out: apply, delete and patches are
idempotent, and a caller of :meth:`Kube.create` must take :class:`Conflict` for an answer.

The official client is synchronous; its calls run on a small pool of threads.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import kubernetes
import urllib3
from kubernetes.dynamic import DynamicClient, Resource
from kubernetes.dynamic.exceptions import DynamicApiError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_delay, wait_random_exponential

from highwater_operator import metrics
from highwater_operator.kinds import KINDS, Kind, kind_of
from highwater_runtime.portable import PortableError

FIELD_MANAGER: Final = "highwater-operator"
Json = dict[str, Any]

_TIMEOUT: Final = (3.0, 10.0)
"""Seconds to connect, and between two bytes of an answer."""
_PATIENCE: Final = 15.0
_PAGE: Final = 500
_TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
_THREADS: Final = 16


class KubeError(PortableError):
    """The API server did not do what was asked; ``status`` is that of HTTP, 0 where there was no answer."""

    def __init__(self, what: str, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{what}: {message}" if status == 0 else f"{what}: {status}: {message}")
        self.status = status
        self.message = message
        self.retry_after = retry_after


class NotFound(KubeError):  # noqa: N818 - named as everybody names it
    """404."""


class Conflict(KubeError):  # noqa: N818
    """409: the object is there already, or has changed since it was read."""


class Refused(KubeError):  # noqa: N818
    """Another 4xx: asking again would not help (invalid, forbidden)."""


class Unavailable(KubeError):  # noqa: N818
    """429, 5xx or no answer, for longer than it was worth waiting."""


class Kube:
    """Access to one API server. Methods may be called concurrently."""

    def __init__(self, configuration: kubernetes.client.Configuration, *, patience: float = _PATIENCE) -> None:
        configuration.retries = 0  # urllib3 would sleep on a thread; patience is ours
        configuration.connection_pool_maxsize = _THREADS
        self.configuration = configuration
        self._patience = patience
        self._client = kubernetes.client.ApiClient(configuration)
        self._dynamic = DynamicClient(self._client, discoverer=_no_discovery)  # type: ignore[no-untyped-call]
        self._resources = {kind: _resource(self._dynamic, kind) for kind in KINDS}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="kube")

    def close(self) -> None:
        """Waits for nothing."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    # --- reading ---

    async def get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """The object; None where it is not."""
        try:
            return await self._call(
                "get", kind, namespace, name, lambda r, p: r.get(name=name, namespace=namespace, **p)
            )
        except NotFound:
            return None

    async def list(
        self,
        kind: Kind,
        namespace: str | None,
        labels: Mapping[str, str] | None = None,
        *,
        fields: Mapping[str, str] | None = None,
    ) -> list[Json]:
        """All objects of a namespace (None: of all) that carry ``labels`` and have ``fields``."""
        wanted = (_selector(labels), _selector(fields))
        found: list[Json] = []
        token: str | None = None
        while True:
            page = await self._call("list", kind, namespace, "", partial(_page, namespace, wanted, token))
            found += page["items"]
            token = page.get("metadata", {}).get("continue")
            if not token:
                return [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in found]

    # --- writing ---

    async def apply(self, manifest: Json) -> Json:
        """Server-side apply: make the object, or make the fields in ``manifest`` (and only those) so."""
        kind, (namespace, name) = kind_of(manifest), _place(manifest)

        def ask(resource: Any, common: Json) -> Any:
            return resource.server_side_apply(
                body=manifest,
                name=name,
                namespace=namespace,
                field_manager=FIELD_MANAGER,
                force_conflicts=True,
                **common,
            )

        return await self._call("apply", kind, namespace, name, ask, again_on_conflict=True)

    async def create(self, manifest: Json, *, patience: float | None = None) -> Json:
        """POST. Raises :class:`Conflict` where it is there already, perhaps by an attempt whose answer was lost."""
        kind, (namespace, name) = kind_of(manifest), _place(manifest)
        return await self._call(
            "create",
            kind,
            namespace,
            name,
            lambda r, p: r.create(body=manifest, namespace=namespace, field_manager=FIELD_MANAGER, **p),
            patience=patience,
        )

    async def patch(self, kind: Kind, namespace: str, name: str, patch: Json) -> Json:
        """JSON merge patch; with ``metadata.resourceVersion`` in it, :class:`Conflict` where that is not the latest."""
        return await self._call(
            "patch",
            kind,
            namespace,
            name,
            lambda r, p: r.patch(
                body=patch, name=name, namespace=namespace, content_type=_MERGE, field_manager=FIELD_MANAGER, **p
            ),
        )

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, status: Json, *, resource_version: str | None
    ) -> Json:
        """Merge ``status`` into the object's, if nobody has changed the object since ``resource_version``.

        A field that is to go must be given as None; lists are replaced as a whole.

        Raises:
            Conflict: somebody has: read it again and decide again. An own attempt whose answer was lost counts too.
        """
        metadata = {} if resource_version is None else {"metadata": {"resourceVersion": resource_version}}
        return await self._call(
            "patch",
            kind,
            namespace,
            name,
            lambda r, p: r.status.patch(
                body={**metadata, "status": status},
                name=name,
                namespace=namespace,
                content_type=_MERGE,
                field_manager=FIELD_MANAGER,
                **p,
            ),
        )

    async def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, grace_seconds: int | None = None
    ) -> bool:
        """Delete it (if it still is the one with ``uid``), dependents after it; whether it was there."""
        options: Json = {"propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            await self._call(
                "delete",
                kind,
                namespace,
                name,
                lambda r, p: r.delete(name=name, namespace=namespace, body=options, **p),
            )
        except NotFound:
            return False
        except Conflict:
            if uid is None:
                raise
            return False  # another object of that name: the one that was meant is gone
        return True

    # --- one request ---

    async def _call(
        self,
        verb: str,
        kind: Kind,
        namespace: str | None,
        name: str,
        ask: Callable[[Any, Json], Any],
        *,
        again_on_conflict: bool = False,
        patience: float | None = None,
    ) -> Json:
        what = f"{verb} {kind.plural} {'/'.join(part for part in (namespace, name) if part)}".rstrip()
        again = _TRY_AGAIN | {409} if again_on_conflict else _TRY_AGAIN
        retrying = AsyncRetrying(
            stop=stop_after_delay(self._patience if patience is None else patience),
            wait=_pause,
            retry=retry_if_exception(lambda e: isinstance(e, KubeError) and (e.status == 0 or e.status in again)),
            reraise=True,
        )
        resource = self._resources[kind]
        common: Json = {"_request_timeout": _TIMEOUT, "serializer": _plain}
        once = partial(self._once, what, verb, partial(ask, resource, common))
        answer: Json = await retrying(once)
        return answer

    async def _once(self, what: str, verb: str, ask: Callable[[], Json]) -> Json:
        try:
            answer = await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        except DynamicApiError as error:
            status = int(error.status or 0)
            metrics.API_REQUESTS.labels(verb, str(status)).inc()
            raise _kind_of_error(status)(what, status, _message(error), _retry_after(error)) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            metrics.API_REQUESTS.labels(verb, "none").inc()
            raise Unavailable(what, 0, f"no answer: {error}") from None
        metrics.API_REQUESTS.labels(verb, "ok").inc()
        return answer


_MERGE: Final = "application/merge-patch+json"
_exponential: Final = wait_random_exponential(multiplier=0.1, max=3.0)


def _pause(state: RetryCallState) -> float:
    error = None if state.outcome is None else state.outcome.exception()
    asked = error.retry_after if isinstance(error, KubeError) else None
    return float(_exponential(state)) if asked is None else asked


def _kind_of_error(status: int) -> type[KubeError]:
    match status:
        case 404:
            return NotFound
        case 409:
            return Conflict
        case _ if status in _TRY_AGAIN or status >= 500 or status == 0:
            return Unavailable
        case _:
            return Refused


def _message(error: DynamicApiError) -> str:
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.reason)


def _retry_after(error: DynamicApiError) -> float | None:
    text = (error.headers or {}).get("Retry-After")
    return float(text) if text is not None and text.isdigit() else None


def _selector(wanted: Mapping[str, str] | None) -> str | None:
    return ",".join(f"{key}={value}" for key, value in (wanted or {}).items()) or None


def _page(
    namespace: str | None, wanted: tuple[str | None, str | None], token: str | None, resource: Any, common: Json
) -> Any:
    labels, fields = wanted
    return resource.get(
        namespace=namespace, label_selector=labels, field_selector=fields, limit=_PAGE, _continue=token, **common
    )


def _place(manifest: Json) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return metadata["namespace"], metadata["name"]


def _plain(_: object, answer: Json) -> Json:
    return answer


def _no_discovery(_: object, __: object) -> None:
    """In the place of the client's discovery: see :mod:`highwater_operator.kinds`."""


def _resource(client: DynamicClient, kind: Kind) -> Any:
    return Resource(  # type: ignore[no-untyped-call]
        prefix=kind.prefix,
        group=kind.group,
        api_version=kind.version,
        kind=kind.kind,
        namespaced=kind.namespaced,
        verbs=[],
        name=kind.plural,
        client=client,
        subresources={
            "status": {"name": f"{kind.plural}/status", "kind": kind.kind, "namespaced": kind.namespaced, "verbs": []}
        },
    )


def local_configuration() -> kubernetes.client.Configuration:
    """That of the pod's service account; outside of a cluster that of ``KUBECONFIG`` or ``~/.kube/config``.

    Raises:
        kubernetes.config.ConfigException: there is neither.
    """
    configuration = kubernetes.client.Configuration()
    try:
        kubernetes.config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except kubernetes.config.ConfigException:
        kubernetes.config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    return configuration
