"""Which LogClusters there are: asked of the API server each time, because data are deleted by the answer."""

from __future__ import annotations

import kubernetes

from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.kinds import LOG_CLUSTER
from highwater_operator.agent.refusals import RefusalError


class ApiClusters:
    """LogClusters by the API server; needs list of logclusters."""

    def __init__(self, configuration: kubernetes.client.Configuration) -> None:
        self._kube = Kube(configuration, patience=0.0)

    def uids(self, namespace: str) -> frozenset[str]:
        """Of all LogClusters in a namespace, those being deleted too.

        Raises:
            RefusalError: 503, the API server does not say. That it has no such resource (404) is no answer either: one
                that has just begun says so of resources that it has not loaded yet.
        """
        return frozenset(self.stateful_sets(namespace))

    def stateful_sets(self, namespace: str) -> dict[str, frozenset[str]]:
        """``name/uid`` of the StatefulSets that the operator has made for each, by its uid. Raises as :meth:`uids`."""
        try:
            return {
                str(item["metadata"]["uid"]): frozenset((item.get("status") or {}).get("statefulSets") or ())
                for item in self._kube.list(LOG_CLUSTER, namespace)
            }
        except KubeError as error:
            raise RefusalError(503, f"the API server does not say which LogClusters there are: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise RefusalError(
                503, f"the API server's list of logclusters in {namespace} cannot be read: {error}"
            ) from error
