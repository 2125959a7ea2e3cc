"""Where the suite runs: against the stand-in always, and against the cluster that ``KUBECONFIG`` names if it answers.

On a real cluster everything happens in a namespace of its own and in an API group of its own, and is taken away again.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import kubernetes
import pytest
import yaml
from kubernetes.client.exceptions import ApiException

Json = dict[str, Any]

PATIENCE: Final = 120.0
"""Seconds until something that takes a moment on a real cluster must have happened."""
GROUP: Final = "conformance.highwater.dev"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/{{ns}}/widgets"
_REACHABLE_SECONDS: Final = 3.0


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Json
    headers: Mapping[str, str]

    @property
    def message(self) -> str:
        """Of a refusal."""
        return str(self.body.get("message", ""))


class Cluster:
    """An API server and a namespace on it."""

    def __init__(self, client: kubernetes.client.ApiClient, namespace: str, *, real: bool) -> None:
        self.client = client
        self.namespace = namespace
        self.real = real

    def path(self, path: str) -> str:
        """``cm/a`` is short for a path in the namespace; what starts with a slash has ``{ns}`` in its place."""
        if path.startswith("/"):
            return path.replace("{ns}", self.namespace)
        return f"/api/v1/namespaces/{self.namespace}/{path}"

    def open(self, method: str, path: str, body: Any = None, media: str = "application/json", **query: Any) -> Any:
        """The raw response, not read yet."""
        asked = "&".join(f"{key.rstrip('_')}={value}" for key, value in query.items() if key != "accept")
        headers = {"Accept": query.get("accept", "application/json"), "Content-Type": media}
        for setting in self.client.configuration.auth_settings().values():
            if setting["in"] == "header":
                headers[setting["key"]] = setting["value"]
        pool = self.client.rest_client.pool_manager
        url = self.client.configuration.host + self.path(path) + (f"?{asked}" if asked else "")
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        return pool.request(method, url, body=data, headers=headers, preload_content=False, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: Any = None, media: str = "application/json", **query: Any) -> Answer:
        """One request; refusals are answers too."""
        response = self.open(method, path, body, media, **query)
        text = response.read()
        response.release_conn()
        return Answer(response.status, json.loads(text) if text[:1] == b"{" else {}, response.headers)

    def get(self, path: str, **query: Any) -> Json:
        """An object that must be there."""
        answer = self.ask("GET", path, **query)
        assert answer.status == 200, answer
        return answer.body

    def create(self, path: str, body: Json, **query: Any) -> Json:
        """An object that must be accepted."""
        answer = self.ask("POST", path, body, **query)
        assert answer.status == 201, answer
        return answer.body

    def merge(self, path: str, body: Json, **query: Any) -> Answer:
        """Merge patch."""
        return self.ask("PATCH", path, body, "application/merge-patch+json", **query)

    def apply(self, path: str, body: Json, manager: str = "applier", **query: Any) -> Answer:
        """Server-side apply."""
        return self.ask("PATCH", path, body, "application/apply-patch+yaml", fieldManager=manager, **query)

    def events(self, path: str, **query: Any) -> Iterator[Json]:
        """A watch, event by event, until the server ends it."""
        response = self.open("GET", path, watch="true", **query)
        assert response.status == 200, response.read()
        buffered = b""
        try:
            for chunk in response.stream(65536):
                buffered += chunk
                while b"\n" in buffered:
                    line, _, buffered = buffered.partition(b"\n")
                    yield json.loads(line)
        finally:
            response.close()

    def until(self, holds: Callable[[], Any], what: str) -> Any:
        """Waits for what takes a moment."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = holds()
            if found:
                return found
            assert time.monotonic() < deadline, f"{what}: not within {PATIENCE} s"
            time.sleep(0.02 if not self.real else 0.2)

    def gone(self, path: str) -> None:
        """Waits until an object is no more."""
        self.until(lambda: self.ask("GET", path).status == 404, f"{path} gone")


def at_rest(manifest: Json, manager: str) -> tuple[Any, ...]:
    """What a write of this manager changes, and a write of another one does not: its managed fields, with their time,
    and the generation."""
    metadata = manifest["metadata"]
    own = [one for one in metadata["managedFields"] if (one["manager"], one["operation"]) == (manager, "Apply")]
    assert own, "it has applied something"
    return metadata.get("generation"), own


def config_map(name: str, data: Json | None = None, **metadata: Any) -> Json:
    """The simplest object."""
    made: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return made if data is None else {**made, "data": data}


def widget(name: str, spec: Json, **metadata: Any) -> Json:
    """The custom resource of the suite."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name, **metadata}, "spec": spec}


DEFINITION: Final[Json] = yaml.safe_load(
    f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.{GROUP}
spec:
  group: {GROUP}
  scope: Namespaced
  names: {{kind: Widget, plural: widgets, singular: widget, shortNames: [wi]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    additionalPrinterColumns:
    - {{name: Phase, type: string, jsonPath: .status.phase}}
    - {{name: Size, type: integer, jsonPath: .spec.size, priority: 1}}
    - {{name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            x-kubernetes-validations:
            - rule: self.size % 2 == 1
              message: size must be odd
            - rule: "!has(oldSelf.color) || has(self.color) && self.color == oldSelf.color"
              message: color cannot be changed
            properties:
              size: {{type: integer, minimum: 1, maximum: 9}}
              color: {{type: string, enum: [red, green]}}
              name: {{type: string, maxLength: 5, pattern: '^[a-z]*$'}}
              mode: {{type: string, default: plain}}
              nested:
                type: object
                default: {{}}
                properties:
                  enabled: {{type: boolean, default: true}}
              numbers: {{type: array, maxItems: 2, items: {{type: integer}}}}
              free: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
              port: {{x-kubernetes-int-or-string: true}}
              parts:
                type: array
                maxItems: 8
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {{type: string}}
                    weight: {{type: integer, default: 1}}
          status:
            type: object
            properties:
              phase: {{type: string}}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status]
                  properties:
                    type: {{type: string}}
                    status: {{type: string}}
"""
)


def _prepared(client: kubernetes.client.ApiClient, *, real: bool) -> Iterator[Cluster]:
    cluster = Cluster(client, f"highwater-conformance-{uuid.uuid4().hex[:8]}", real=real)
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    cluster.create("/api/v1/namespaces", {"metadata": {"name": cluster.namespace}})
    answer = cluster.ask("POST", definitions, DEFINITION)
    assert answer.status in (201, 409), answer
    cluster.until(lambda: cluster.ask("GET", WIDGETS).status == 200, "widgets served")
    try:
        yield cluster
    finally:
        cluster.ask("DELETE", f"/api/v1/namespaces/{cluster.namespace}")
        if answer.status == 201:
            cluster.ask("DELETE", f"{definitions}/{DEFINITION['metadata']['name']}")


def _real_client() -> kubernetes.client.ApiClient:
    """Skips where there is no cluster."""
    path = os.environ.get("KUBECONFIG")
    if not path:
        pytest.skip("KUBECONFIG names no cluster")
    try:
        client = kubernetes.config.new_client_from_config(path)
        kubernetes.client.VersionApi(client).get_code(_request_timeout=_REACHABLE_SECONDS)
    except (OSError, ApiException, kubernetes.config.ConfigException, kubernetes.client.OpenApiException) as error:
        pytest.skip(f"the cluster of KUBECONFIG={path} does not answer: {error}")
    except Exception as error:
        if type(error).__module__.startswith("urllib3"):
            pytest.skip(f"the cluster of KUBECONFIG={path} does not answer: {error}")
        raise
    return client


@pytest.fixture(scope="module", params=["stand-in", "real"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Both, one after the other."""
    if request.param == "real":
        yield from _prepared(_real_client(), real=True)
        return
    from api_server import ApiServer

    with ApiServer() as api:
        yield from _prepared(kubernetes.client.ApiClient(api.configuration()), real=False)


@pytest.fixture
def name() -> str:
    """Of an object that no other test has."""
    return f"t-{uuid.uuid4().hex[:10]}"


@pytest.fixture(scope="session")
def new_config_map() -> Callable[..., Json]:
    """Makes ConfigMaps."""
    return config_map


@pytest.fixture(scope="session")
def new_widget() -> Callable[..., Json]:
    """Makes Widgets."""
    return widget
