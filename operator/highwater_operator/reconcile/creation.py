"""Why pods of a StatefulSet are not created: its controller reports it only in Events.

A pod that the API server refuses (Pod Security, a quota, a webhook) leaves no trace in the StatefulSet's status. Events
are asked for only while pods are missing, of that StatefulSet alone. An Event outlives its cause by an hour: a refusal
counts only for a pod that is missing now, and only if nothing newer says that it was created.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from highwater_chaos.kube.client import RefusedError
from highwater_chaos.kube.kinds import EVENT, Json
from highwater_operator.kube import AsyncKube
from highwater_operator.objects.naming import Role
from highwater_operator.reconcile.observation import PodView, SetView
from highwater_operator.reconcile.pod_troubles import refused_volume, time_of, warning_in_events
from highwater_runtime.log_lines import log_event

_POD: Final = re.compile(r"\bPod (\S+) in StatefulSet ")
_WHY: Final = re.compile(r".* failed error: ", re.DOTALL)
_log = logging.getLogger(__name__)


async def why_not_created(
    kube: AsyncKube, namespace: str, sets: Mapping[Role, SetView], pods: Sequence[PodView]
) -> str | None:
    """What their controller says of pods that are missing; None: nothing is missing, or nothing was refused."""
    short = {one: gone for role, one in sets.items() if (gone := _missing(one, role, pods))}
    try:
        lists = await asyncio.gather(
            *(kube.list(EVENT, namespace, fields={"involvedObject.uid": one.uid}) for one in short)
        )
    except RefusedError as error:  # an operator that is newer than its ClusterRole
        log_event(_log, logging.WARNING, "events of StatefulSets cannot be read", namespace=namespace, error=str(error))
        return None
    refusals = [
        why
        for (one, gone), events in zip(short.items(), lists, strict=True)
        if (why := refusal(one, gone, events)) is not None
    ]
    if not refusals:
        return None
    return ". ".join(refusals)


async def with_troubles(kube: AsyncKube, namespace: str, pods: Sequence[PodView]) -> tuple[PodView, ...]:
    """The pods; those whose containers cannot be created, or that wait for their crashable volume, with what Events say
    about them."""
    asked = [pod for pod in pods if not (pod.ready or pod.terminating or pod.trouble)]
    try:
        lists = await asyncio.gather(
            *(kube.list(EVENT, namespace, fields={"involvedObject.uid": pod.uid}) for pod in asked)
        )
    except RefusedError as error:
        log_event(_log, logging.WARNING, "events of pods cannot be read", namespace=namespace, error=str(error))
        return tuple(pods)
    troubles = {
        pod.uid: warning_in_events(events) if pod.creating else refused_volume(events)
        for pod, events in zip(asked, lists, strict=True)
    }
    return tuple(pod if (found := troubles.get(pod.uid)) is None else replace(pod, trouble=str(found)) for pod in pods)


def refusal(of: SetView, missing: Sequence[str], events: Iterable[Json]) -> str | None:
    """The refusal of the first of its missing pods that was refused, by the Events about a StatefulSet."""
    latest: dict[str, tuple[str, bool, str]] = {}
    for event in events:
        message = event.get("message", "")
        named = _POD.search(message)
        created = event.get("reason") == "SuccessfulCreate" and message.startswith("create Pod ")
        if named is None or not (created or event.get("reason") == "FailedCreate"):
            continue  # among others: that a claim was created says nothing of its pod
        # Within the same second a success wins: a refusal that lasts is reported again.
        outcome = (time_of(event), created, _WHY.sub("", message))
        latest[named[1]] = max(outcome, latest.get(named[1], outcome))
    for pod in missing:
        _, created, why = latest.get(pod, ("", True, ""))
        if not created:
            return f"{of.replicas - len(missing)} of {of.replicas} pods of {of.name} exist; {pod} is refused: {why}"
    return None


def _missing(of: SetView, role: Role, pods: Sequence[PodView]) -> list[str]:
    if of.update_revision is None:
        return []  # its controller has not looked at it yet
    there = {pod.index for pod in pods if pod.role == role}
    return [f"{of.name}-{index}" for index in range(of.replicas) if index not in there]
