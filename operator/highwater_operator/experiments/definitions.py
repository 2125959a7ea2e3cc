"""Whether the installed CustomResourceDefinitions have what this operator needs, and what it does if they have not.

They are compared when the operator starts, and again before it accepts an experiment. If anything that an experiment
relies on would be dropped, experiments are refused: a fault whose journal is not kept is healed by nobody. Clusters are
served, and experiments that run are followed and healed, as far as the definitions go.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from highwater_chaos.kube.client import RefusedError
from highwater_chaos.kube.kinds import DEFINITION, GROUP, Json
from highwater_operator.kube import AsyncKube
from highwater_operator.resources.crds import definitions
from highwater_operator.resources.installed import lacking

OUTDATED: Final = "DefinitionsOutdated"
UNKNOWN: Final = "DefinitionsUnknown"
WHAT_TO_DO: Final = (
    "apply the definitions of this version with `kubectl apply --server-side --force-conflicts -f helm/highwater/crds`:"
    " `helm upgrade` leaves them as they were installed first"
)
_CAN_DO_WITHOUT: Final = frozenset(
    f"logclusters.{GROUP}: {name}" if " " in name else f"logclusters.{GROUP}: status.{name}"
    for name in (
        "subresource scale",
        "activeController",
        "brokersReady",
        "controllersReady",
        "experiment",  # the condition Held says the same
        "observedGeneration",
        "replicas",
        "selector",
        "underReplicatedPartitions",
        "zookeepersReady",
    )
) | {f"chaosexperiments.{GROUP}: status.progress"}
"""What is only shown to people, or for their convenience."""
_NAMED: Final = 8


class Shortage(NamedTuple):
    """What is wrong with the installed definitions. ``refuses``: too much for an experiment."""

    reason: str
    message: str
    refuses: bool


async def shortage(kube: AsyncKube) -> Shortage | None:
    """Return what the installed definitions lack; None: nothing.

    Raises:
        KubeError: the API server did not answer.
    """
    missing: list[str] = []
    for wanted in _wanted():
        name = wanted["metadata"]["name"]
        try:
            installed = await kube.get(DEFINITION, None, name)
        except RefusedError as error:
            what = f"the definition {name} cannot be read, so what the API server keeps is not known: {error}"
            rights = "apply the rights of this version (manifests/base/rbac, or the chart)"
            return Shortage(UNKNOWN, f"{what}; {rights}", refuses=True)
        lacks = ["the definition itself"] if installed is None else lacking(wanted, installed)
        missing += [f"{name}: {one}" for one in lacks]
    if not missing:
        return None
    needed = [one for one in missing if one not in _CAN_DO_WITHOUT]
    shown = needed or missing
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    what = f"the installed definitions are not of this version and lack {', '.join(shown[:_NAMED])}{more}"
    return Shortage(OUTDATED, f"{what}; {WHAT_TO_DO}", refuses=bool(needed))


@cache
def _wanted() -> tuple[Json, ...]:
    return tuple(definitions().values())
