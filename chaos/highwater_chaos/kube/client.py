"""One API server: a few verbs on plain objects, with patience.

What a bad day brings (429, 5xx, time-outs, cut connections) is tried again for a while, with growing pauses, and then
becomes :class:`UnavailableError`. If the response to a write is lost, the write may have been carried out: apply,
delete and patches are idempotent, and a caller of :meth:`Kube.create` must take :class:`ConflictError` for an answer.

The requests are made by the official client's dynamic one: it speaks server-side apply and kinds of which it has no
models, and gives back the JSON as it came. The official client has to be there anyway, so another one (``lightkube``)
would only add packages.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import kubernetes
import urllib3
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.stream import portforward
from kubernetes.stream.ws_client import PortForward
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_before_delay,
    stop_when_event_set,
    wait_random_exponential,
)

from highwater_chaos.kube.kinds import ACCESS_REVIEW, POD, Json, Kind, kind_of
from highwater_runtime.portable import PortableError

PATIENCE: Final = 15.0
"""Seconds for which a request is tried again, unless its caller says otherwise."""
_TIMEOUT: Final = (3.0, 10.0)
"""Seconds to connect, and between two bytes of a response."""
KEEP_ALIVE: Final = tuple(
    (level, getattr(socket, name), value)
    for level, name, value in (
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 4),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 2),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
        (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", 10_000),
    )
    if hasattr(socket, name)  # Linux has all
)
"""Options of a socket whose kernel notices within about ten seconds that the other machine is gone."""
_PAGE: Final = 500
MOST_LOG: Final = 16 << 20
_CONNECTIONS: Final = 32
_TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_exponential: Final = wait_random_exponential(multiplier=0.1, max=3.0)


class KubeError(PortableError):
    """The API server did not do what was asked; ``status`` is that of HTTP, 0 if there was no response."""

    def __init__(self, what: str, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{what}: {message}" if status == 0 else f"{what}: {status}: {message}")
        self.status = status
        self.message = message
        self.retry_after = retry_after


class NotFoundError(KubeError):
    """The API server has no such object (404)."""


class ConflictError(KubeError):
    """409: the object is there already, or has changed since it was read."""


class RefusedError(KubeError):
    """Another 4xx: asking again would not help (invalid, forbidden)."""


class UnavailableError(KubeError):
    """429, 5xx or no response, for longer than it was worth waiting."""


def _ignore(verb: str, status: str) -> None:
    del verb, status


class Kube:
    """Access to one API server. Safe to use from any thread.

    Args:
        configuration: how it is reached.
        manager: the field manager of all writes.
        patience: seconds for which a request is tried again.
        count: hears of every response: its verb, and ``ok``, the number of an error, or ``none`` (no response).
    """

    def __init__(
        self,
        configuration: kubernetes.client.Configuration,
        *,
        manager: str = "highwater",
        patience: float = PATIENCE,
        count: Callable[[str, str], None] = _ignore,
    ) -> None:
        configuration.retries = 0  # urllib3 would try again too
        configuration.connection_pool_maxsize = _CONNECTIONS
        self.configuration = configuration
        self._manager = manager
        self._patience = patience
        self._count = count
        self._closed = threading.Event()
        self._dynamic = DynamicClient(kubernetes.client.ApiClient(configuration), discoverer=lambda *_: None)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Try nothing again from now on. Waits for nothing."""
        self._closed.set()

    # --- reading ---

    def get(self, kind: Kind, namespace: str | None, name: str, *, patience: float | None = None) -> Json | None:
        """The object; None: there is none."""
        try:
            return self._ask("get", kind, namespace, name, patience=patience)
        except NotFoundError:
            return None

    def list(
        self,
        kind: Kind,
        namespace: str | None,
        labels: Mapping[str, str] | str | None = None,
        *,
        fields: Mapping[str, str] | None = None,
        patience: float | None = None,
    ) -> list[Json]:
        """All objects of a namespace (None: of all) that carry ``labels`` and have ``fields``."""
        objects: list[Json] = []
        token: str | None = None
        while True:
            page = self._ask(
                "list",
                kind,
                namespace,
                patience=patience,
                label_selector=labels if isinstance(labels, str) else _selector(labels),
                field_selector=_selector(fields),
                limit=_PAGE,
                _continue=token,
            )
            objects += page["items"]
            token = page.get("metadata", {}).get("continue")
            if not token:
                return [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in objects]

    def may(self, verb: str, resource: str, namespace: str, group: str = "", name: str = "") -> bool:
        """Whether the caller may do this in a namespace; ``resource`` may be ``pods/portforward``."""
        plural, _, subresource = resource.partition("/")
        what = {"verb": verb, "group": group, "resource": plural, "namespace": namespace}
        what |= {"subresource": subresource, "name": name}
        review = {"apiVersion": ACCESS_REVIEW.api_version, "kind": ACCESS_REVIEW.kind}
        answer = self.create({**review, "metadata": {}, "spec": {"resourceAttributes": what}})
        return bool((answer.get("status") or {}).get("allowed"))

    def log(self, namespace: str, pod: str, container: str, *, patience: float | None = None) -> str:
        """What a container has written in its life now, and in the one before it, which is all that a kubelet keeps; at
        most :data:`MOST_LOG` bytes of each. If it cannot be read, why."""
        before, now = (self._log_of(namespace, pod, container, previous, patience) for previous in (True, False))
        return before + now

    def _log_of(self, namespace: str, pod: str, container: str, previous: bool, patience: float | None) -> str:
        asked = [("container", container), ("limitBytes", str(MOST_LOG)), ("previous", str(previous).lower())]
        try:
            found: Any = self._ask("get", POD, namespace, pod, "log", patience=patience, query_params=asked)
        except KubeError as error:
            if previous and error.status == 400:
                return ""  # it is the first
            which = "of the container before" if previous else ""
            return f"(the log {which} could not be read: {error})\n".replace("  ", " ")
        text = found if isinstance(found, str) else json.dumps(found)  # a single line of JSON is read as such
        if text and not text.endswith("\n"):
            text += "\n"
        return text if len(text.encode()) < MOST_LOG else f"{text}(the log goes on: {MOST_LOG} bytes of it are read)\n"

    # --- writing ---

    def apply(self, manifest: Json) -> Json:
        """Server-side apply: make the object, or make the fields in ``manifest`` (and only those) so."""
        namespace, name = _place(manifest)
        return self._ask(
            "apply",
            kind_of(manifest),
            namespace,
            name,
            body=manifest,
            content_type=_APPLY,
            force_conflicts=True,
            again=_TRY_AGAIN | {409},
        )

    def create(self, manifest: Json, *, patience: float | None = None) -> Json:
        """POST. Raises :class:`ConflictError` if it is there already, perhaps by an attempt whose response was lost."""
        namespace, name = _place(manifest)
        return self._ask("create", kind_of(manifest), namespace, name, body=manifest, patience=patience)

    def evict(self, namespace: str, pod: str, uid: str) -> str | None:
        """Ask for the eviction of a pod (policy/v1); why it was refused, by a PodDisruptionBudget; None: it goes, or is
        gone."""
        meta = {"name": pod, "namespace": namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        body |= {"deleteOptions": {"preconditions": {"uid": uid}}}
        try:
            self._ask("evict", POD, namespace, pod, "eviction", body=body, again=frozenset({500, 502, 503, 504}))
        except (NotFoundError, ConflictError):
            return None
        except KubeError as error:
            if error.status != 429:
                raise
            return error.message
        return None

    def patch(self, kind: Kind, namespace: str | None, name: str, patch: Json) -> Json:
        """JSON merge patch. With ``metadata.resourceVersion`` in it, :class:`ConflictError` if that is not the
        latest."""
        return self._ask("patch", kind, namespace, name, body=patch, content_type=_MERGE)

    def patch_status(
        self, kind: Kind, namespace: str, name: str, status: Json, *, resource_version: str | None
    ) -> Json:
        """Merge ``status`` into the object's, if the object has not been changed since ``resource_version``.

        A field that is to go must be given as None; lists are replaced as a whole.

        Raises:
            ConflictError: it has been changed: read it again and decide again. An own attempt whose response was lost
            counts too.
        """
        metadata = {} if resource_version is None else {"metadata": {"resourceVersion": resource_version}}
        body = {**metadata, "status": status}
        return self._ask("patch", kind, namespace, name, "status", body=body, content_type=_MERGE)

    def set_finalizers(self, kind: Kind, found: Json, finalizers: Sequence[str]) -> Json:
        """Replace them, if the object has not been changed since ``found`` was read. Raises :class:`ConflictError`."""
        metadata = found["metadata"]
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": [*finalizers]}}
        return self.patch(kind, metadata["namespace"], metadata["name"], body)

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, grace_seconds: int | None = None
    ) -> bool:
        """Delete it (if it still is the one with ``uid``), dependents after it; whether it was there."""
        options: Json = {"propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            self._ask("delete", kind, namespace, name, body=options)
        except NotFoundError:
            return False
        except ConflictError:
            if uid is None:
                raise
            return False  # another object of that name: the one that was meant is gone
        return True

    # --- connections ---

    def forward(self, namespace: str, pod: str, port: int) -> PortForward:
        """Bytes to and from a port of a pod, through the API server. Raises ``ConnectionError``."""
        # A client of its own: the stream helper borrows the client's methods, which other threads use.
        core = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(self.configuration))
        try:
            return cast(
                "PortForward",
                portforward(core.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(port)),
            )
        except ApiException as error:
            raise ConnectionError(f"port-forward to {namespace}/{pod}:{port}: {error.reason}") from None

    # --- one request ---

    def _ask(
        self,
        verb: str,
        kind: Kind,
        namespace: str | None,
        name: str = "",
        part: str = "",
        *,
        again: frozenset[int] = _TRY_AGAIN,
        patience: float | None = None,
        **parameters: Any,
    ) -> Json:
        subject = "/".join(one for one in (namespace, name) if one)
        what = f"{verb} {kind.plural} {subject}".rstrip()
        path = kind.path(namespace, "" if verb == "create" else name, part)
        if verb in ("apply", "create", "evict", "patch"):
            parameters["field_manager"] = self._manager
        trying = Retrying(
            stop=stop_before_delay(self._patience if patience is None else patience)
            | stop_when_event_set(self._closed),
            wait=_pause,
            sleep=sleep_using_event(self._closed),
            retry=retry_if_exception(lambda e: isinstance(e, KubeError) and (e.status == 0 or e.status in again)),
            reraise=True,
        )
        answer: Json = trying(self._once, what, verb, path, parameters)
        return answer

    def _once(self, what: str, verb: str, path: str, parameters: Json) -> Any:
        try:
            answer = self._dynamic.request(
                _METHODS[verb], path, **parameters, _request_timeout=_TIMEOUT, serializer=_plain
            )
        except ApiException as error:
            status = int(error.status or 0)
            self._count(verb, str(status))
            raise _kind_of_error(status)(what, status, _message(error), _retry_after(error)) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self._count(verb, "none")
            raise UnavailableError(what, 0, f"no response: {error}") from None
        self._count(verb, "ok")
        return answer


_METHODS: Final = {
    "get": "get",
    "list": "get",
    "apply": "patch",
    "create": "post",
    "evict": "post",
    "patch": "patch",
    "delete": "delete",
}


def _pause(state: RetryCallState) -> float:
    error = None if state.outcome is None else state.outcome.exception()
    asked = error.retry_after if isinstance(error, KubeError) else None
    return float(_exponential(state)) if asked is None else asked


def _kind_of_error(status: int) -> type[KubeError]:
    match status:
        case 404:
            return NotFoundError
        case 409:
            return ConflictError
        case _ if status in _TRY_AGAIN or status >= 500 or status == 0:
            return UnavailableError
        case _:
            return RefusedError


def _message(error: ApiException) -> str:
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return str(error.body or error.reason)[:500]


def _retry_after(error: ApiException) -> float | None:
    text = (error.headers or {}).get("Retry-After")
    return float(text) if text is not None and text.isdigit() else None


def _selector(wanted: Mapping[str, str] | None) -> str | None:
    return ",".join(f"{key}={value}" for key, value in (wanted or {}).items()) or None


def _place(manifest: Json) -> tuple[str | None, str]:
    metadata = manifest["metadata"]
    return metadata.get("namespace"), metadata.get("name", "")


def _plain(_: object, answer: Any) -> Any:
    return answer


def local_configuration() -> kubernetes.client.Configuration:
    """That of ``KUBECONFIG`` if it is set, else of the pod's service account, else of ``~/.kube/config``.

    Raises:
        kubernetes.config.ConfigException: there is none of them.
    """
    configuration = kubernetes.client.Configuration()
    configuration.socket_options = [*urllib3.connection.HTTPConnection.default_socket_options, *KEEP_ALIVE]
    # The client's own default is what the variable was when it was imported.
    file = os.environ.get("KUBECONFIG") or None
    if file is None:
        try:
            kubernetes.config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except kubernetes.config.ConfigException:
            pass
        else:
            return configuration
    kubernetes.config.load_kube_config(file, client_configuration=configuration)  # type: ignore[no-untyped-call]
    return configuration
