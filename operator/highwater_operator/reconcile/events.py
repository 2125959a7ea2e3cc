"""Events (core/v1) about an object: one each time that something happens, counted up where the same happens again.

An Event's name follows from its content, so that a repetition finds the first one. Nothing depends on Events: if the
API server does not take one, this costs a line in the log.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, Literal

from highwater_chaos.kube.client import ConflictError, KubeError
from highwater_chaos.kube.kinds import EVENT, Json
from highwater_operator.kube import AsyncKube
from highwater_runtime.log_lines import log_event

COMPONENT: Final = "highwater-operator"
EventType = Literal["Normal", "Warning"]
_LONGEST: Final = 1000
_LONGEST_NAME: Final = 253 - 17
"""Of the object's name in the Event's: the digest, which is of the object's uid, and a dot come after it."""
_PATIENCE: Final = 1.0
_log = logging.getLogger(__name__)


async def publish_event(
    kube: AsyncKube, about: Json, type_: EventType, reason: str, message: str, now: datetime, *, once: bool = False
) -> bool:
    """Post an Event about an object (a manifest); ``once``: the same again is not counted. Returns whether it is known
    to have been posted before."""
    metadata = about["metadata"]
    stamp = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = blake2b(f"{metadata['uid']} {reason} {message}".encode(), digest_size=8).hexdigest()
    namespace, name = metadata["namespace"], f"{metadata['name'][:_LONGEST_NAME].rstrip('-.')}.{digest}"
    event: Json = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "name": metadata["name"],
            "namespace": namespace,
            "uid": metadata["uid"],
            "resourceVersion": metadata.get("resourceVersion", ""),
        },
        "type": type_,
        "reason": reason,
        "message": message[:_LONGEST],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": COMPONENT,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }
    try:
        try:
            await kube.create(event, patience=_PATIENCE)
        except ConflictError:
            if once:
                return True
            found = await kube.get(EVENT, namespace, name)
            again = {"count": int((found or {}).get("count") or 0) + 1, "lastTimestamp": stamp}
            await kube.patch(EVENT, namespace, name, again)
    except KubeError as error:
        about_fields = {"namespace": namespace, "kind": about["kind"], "name": metadata["name"]}
        log_event(_log, logging.WARNING, "an Event was not posted", **about_fields, reason=reason, error=str(error))
    return False


def log_about(about: Json, type_: EventType, event: str, **fields: object) -> None:
    """Log an event about an object (a manifest)."""
    metadata = about["metadata"]
    line = {"namespace": metadata["namespace"], "kind": about["kind"], "name": metadata["name"], **fields}
    log_event(_log, logging.WARNING if type_ == "Warning" else logging.INFO, event, **line)


async def tell(
    kube: AsyncKube,
    about: Json,
    type_: EventType,
    reason: str,
    message: str,
    now: datetime,
    *,
    once: bool = False,
    change: Json | None = None,
) -> None:
    """Post an Event, and log it under its reason. ``change``: the event and the fields of its line are these, where it
    is a transition."""
    if not await publish_event(kube, about, type_, reason, message, now, once=once):
        log_about(about, type_, **(change or {"event": reason, "message": message}))
