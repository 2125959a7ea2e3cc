"""The API server as the runner and the command line use it: a handful of calls, with patience.

What a bad day brings (429, 5xx, no answer) is tried again for a while with growing pauses; a conflict is the caller's.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Final, cast

import kubernetes
import urllib3
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import portforward
from kubernetes.stream.ws_client import PortForward
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from highwater_runtime.portable import PortableError

GROUP: Final = "highwater.dev"
VERSION: Final = "v1alpha1"
EXPERIMENTS: Final = "chaosexperiments"
CLUSTERS: Final = "logclusters"
_TIMEOUT: Final = (3.0, 20.0)
_TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
Json = dict[str, Any]


def pod_configuration() -> kubernetes.client.Configuration:
    """The API server of the pod that this runs in; of ``KUBECONFIG`` where that is set."""
    configuration = kubernetes.client.Configuration()
    if os.environ.get("KUBECONFIG"):
        kubernetes.config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    else:
        kubernetes.config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    return configuration


class ApiError(PortableError):
    """The API server did not do what was asked; ``status`` is that of HTTP, 0 where there was no answer."""

    def __init__(self, what: str, status: int, message: str) -> None:
        super().__init__(f"{what}: {message}" if status == 0 else f"{what}: {status}: {message}")
        self.status = status


class Api:
    """One API server. Safe to use from any thread.

    Args:
        configuration: how it is reached.
        patience: seconds for which a call is tried again.
    """

    def __init__(self, configuration: kubernetes.client.Configuration, *, patience: float = 60.0) -> None:
        configuration.retries = 0
        self._patience = patience
        self._client = kubernetes.client.ApiClient(configuration)
        self._custom = kubernetes.client.CustomObjectsApi(self._client)
        self._core = kubernetes.client.CoreV1Api(self._client)
        self._batch = kubernetes.client.BatchV1Api(self._client)
        self._reviews = kubernetes.client.AuthorizationV1Api(self._client)
        self._configuration = configuration

    # --- our own kinds ---

    def get(self, plural: str, namespace: str, name: str) -> Json | None:
        """The object; None where it is not."""
        return self._found(
            f"get {plural} {namespace}/{name}",
            lambda: self._custom.get_namespaced_custom_object(
                GROUP, VERSION, namespace, plural, name, _request_timeout=_TIMEOUT
            ),
        )

    def objects(self, plural: str, namespace: str) -> list[Json]:
        """All of a namespace."""
        found = self._call(
            f"list {plural} {namespace}",
            lambda: self._custom.list_namespaced_custom_object(
                GROUP, VERSION, namespace, plural, _request_timeout=_TIMEOUT
            ),
        )
        return cast("list[Json]", found["items"])

    def create(self, plural: str, namespace: str, body: Json) -> Json:
        """POST. Raises ``ApiError`` (409) where it is there already, perhaps by an attempt whose answer was lost."""
        return self._call(
            f"create {plural} {namespace}/{body['metadata']['name']}",
            lambda: self._custom.create_namespaced_custom_object(
                GROUP, VERSION, namespace, plural, body, field_manager="highwater-runner", _request_timeout=_TIMEOUT
            ),
        )

    def delete(self, plural: str, namespace: str, name: str, uid: str | None = None) -> bool:
        """Whether it was there. With ``uid``: that one and no other of its name. Raises ``ApiError`` (409)."""
        body = None if uid is None else {"preconditions": {"uid": uid}}
        return (
            self._found(
                f"delete {plural} {namespace}/{name}",
                lambda: self._custom.delete_namespaced_custom_object(
                    GROUP, VERSION, namespace, plural, name, body=cast("Any", body), _request_timeout=_TIMEOUT
                ),
            )
            is not None
        )

    def set_finalizers(self, plural: str, namespace: str, name: str, finalizers: list[str], version: str) -> Json:
        """If nobody has changed the object since. Raises ``ApiError`` (409) where somebody has."""
        body = {"metadata": {"resourceVersion": version, "finalizers": finalizers}}
        return self._call(
            f"patch finalizers of {plural} {namespace}/{name}",
            lambda: self._custom.patch_namespaced_custom_object(
                GROUP, VERSION, namespace, plural, name, body, _request_timeout=_TIMEOUT
            ),
        )

    def patch_status(self, plural: str, namespace: str, name: str, status: Json, resource_version: str) -> Json:
        """Merge into the status if nobody has changed the object since. Raises ``ApiError`` (409) where somebody has:
        an own attempt whose answer was lost counts too."""
        body = {"metadata": {"resourceVersion": resource_version}, "status": status}
        return self._call(
            f"patch status of {plural} {namespace}/{name}",
            lambda: self._custom.patch_namespaced_custom_object_status(
                GROUP, VERSION, namespace, plural, name, body, _request_timeout=_TIMEOUT
            ),
        )

    # --- core ---

    def pods(self, namespace: str, selector: str, *, patience: float | None = None) -> list[Json]:
        """Pods by labels. ``patience``: other than this server's usual one."""
        found = self._call(
            f"list pods {namespace}",
            lambda: self._plain(
                self._core.list_namespaced_pod(namespace, label_selector=selector, _request_timeout=_TIMEOUT)
            ),
            patience,
        )
        return list(found.get("items") or [])

    def namespace(self, name: str) -> Json | None:
        """The Namespace; None where it is not."""
        return self._found(
            f"get namespace {name}",
            lambda: self._plain(self._core.read_namespace(name, _request_timeout=_TIMEOUT)),
        )

    def secret(self, namespace: str, name: str) -> dict[str, bytes] | None:
        """What a Secret holds; None where it is not."""
        found = self._found(
            f"get secret {namespace}/{name}",
            lambda: self._plain(self._core.read_namespaced_secret(name, namespace, _request_timeout=_TIMEOUT)),
        )
        return None if found is None else {key: b64decode(value) for key, value in (found.get("data") or {}).items()}

    def delete_job(self, namespace: str, name: str) -> bool:
        """With its pods; whether it was there."""
        return (
            self._found(
                f"delete job {namespace}/{name}",
                lambda: self._plain(
                    self._batch.delete_namespaced_job(
                        name, namespace, propagation_policy="Background", _request_timeout=_TIMEOUT
                    )
                ),
            )
            is not None
        )

    def may(self, verb: str, resource: str, namespace: str, group: str = "", name: str = "") -> bool:
        """Whether whoever asks may do this in a namespace; ``resource`` may be ``pods/portforward``."""
        plural, _, subresource = resource.partition("/")
        what = {"verb": verb, "group": group, "resource": plural, "namespace": namespace}
        what |= {"subresource": subresource, "name": name}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        found = self._call(
            f"ask whether {verb} {resource} is allowed",
            lambda: self._plain(
                self._reviews.create_self_subject_access_review(
                    cast("Any", {**body, "spec": {"resourceAttributes": what}}), _request_timeout=_TIMEOUT
                )
            ),
        )
        return bool((found.get("status") or {}).get("allowed"))

    def forward(self, namespace: str, pod: str, port: int) -> PortForward:
        """Bytes to and from a port of a pod, through the API server. Raises ``ConnectionError``."""
        # A client of its own: the stream helper borrows the client's methods, which other threads use.
        core = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(self._configuration))
        try:
            return cast(
                "PortForward",
                portforward(core.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(port)),
            )
        except ApiException as error:
            raise ConnectionError(f"port-forward to {namespace}/{pod}:{port}: {error.reason}") from None

    def log(self, namespace: str, pod: str, container: str) -> str:
        """What a container has written; in words why not, where it cannot be had."""
        try:
            found = self._call(
                f"log of {namespace}/{pod}",
                lambda: {
                    "text": self._core.read_namespaced_pod_log(
                        pod, namespace, container=container, _request_timeout=_TIMEOUT
                    )
                },
            )
        except ApiError as error:
            return f"(the log could not be read: {error})\n"
        return str(found["text"] or "")

    def config_map(self, namespace: str, name: str) -> Json | None:
        """The ConfigMap; None where it is not."""
        return self._found(
            f"get configmap {namespace}/{name}",
            lambda: self._plain(self._core.read_namespaced_config_map(name, namespace, _request_timeout=_TIMEOUT)),
        )

    def put_config_map(self, body: Json) -> None:
        """Create it, or replace the one of that name."""
        namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
        try:
            self._call(
                f"create configmap {namespace}/{name}",
                lambda: self._plain(
                    self._core.create_namespaced_config_map(namespace, cast("Any", body), _request_timeout=_TIMEOUT)
                ),
            )
        except ApiError as error:
            if error.status != 409:
                raise
            self._call(
                f"replace configmap {namespace}/{name}",
                lambda: self._plain(
                    self._core.replace_namespaced_config_map(
                        name, namespace, cast("Any", body), _request_timeout=_TIMEOUT
                    )
                ),
            )

    # --- one call ---

    def _plain(self, found: Any) -> Json:
        return cast("Json", self._client.sanitize_for_serialization(found))  # type: ignore[no-untyped-call]

    def _found(self, what: str, ask: Callable[[], Any]) -> Json | None:
        try:
            return self._call(what, ask)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _call(self, what: str, ask: Callable[[], Any], patience: float | None = None) -> Json:
        trying = Retrying(
            stop=stop_after_delay(self._patience if patience is None else patience),
            wait=wait_random_exponential(0.1, max=3.0),
            retry=retry_if_exception(
                lambda error: isinstance(error, ApiError) and (error.status == 0 or error.status in _TRY_AGAIN)
            ),
            reraise=True,
        )
        return trying(self._once, what, ask)

    def _once(self, what: str, ask: Callable[[], Any]) -> Json:
        try:
            return cast("Json", ask())
        except ApiException as error:
            raise ApiError(what, int(error.status or 0), _said(error)) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(what, 0, f"no answer: {error}") from None


def _said(error: ApiException) -> str:
    return str(error.body or error.reason)[:500]
