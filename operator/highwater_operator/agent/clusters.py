"""Which LogClusters there are: asked of the API server each time, because data are deleted by the answer."""

from __future__ import annotations

from typing import Any

import kubernetes
import urllib3
from kubernetes.client.exceptions import ApiException

from highwater_operator.agent.places import LOG_CLUSTERS
from highwater_operator.agent.refusals import Refusal

_TIMEOUT = (3.0, 10.0)


class ApiClusters:
    """LogClusters by the API server; needs list of logclusters."""

    def __init__(self, configuration: kubernetes.client.Configuration) -> None:
        # The client is not typed where it matters.
        client: Any = kubernetes.client.ApiClient(configuration)
        self._api: Any = kubernetes.client.CustomObjectsApi(client)

    def uids(self, namespace: str) -> frozenset[str]:
        """Of all LogClusters in a namespace, those being deleted too.

        Raises:
            Refusal: 503, the API server does not say. That it has no such resource (404) is no answer either: one that
                has just begun says so of resources that it has not loaded yet.
        """
        group, version, plural = LOG_CLUSTERS
        try:
            found = self._api.list_namespaced_custom_object(
                group, version, namespace, plural, _request_timeout=_TIMEOUT
            )
            return frozenset(str(item["metadata"]["uid"]) for item in found["items"])
        except ApiException as error:
            what = f"the API server refused to list logclusters in {namespace}: {error.status} {error.reason}"
            raise Refusal(503, what) from error
        except urllib3.exceptions.HTTPError as error:
            raise Refusal(503, f"the API server does not answer: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise Refusal(
                503, f"the API server's list of logclusters in {namespace} cannot be read: {error}"
            ) from error
