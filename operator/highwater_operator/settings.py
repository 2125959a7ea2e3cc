"""How kopf is to behave: its defaults suit a laptop, not a test harness whose runs take seconds.

What is set here and why: retries come after seconds and not after a minute; all traces on objects (finalizer,
annotations) carry our own name; no Events by kopf itself (ours are sent by the code that knows what happened);
numbers of workers are bounded; a watch that has gone silent is noticed; the operator is the only one of its kind
(``Recreate``), so no peering.
"""

from __future__ import annotations

from typing import Final

import kopf

from highwater_chaos.kube.kinds import CLUSTER_LABEL

PREFIX: Final = "operator.highwater.dev"
FINALIZER: Final = f"{PREFIX}/finalizer"
_WORKERS: Final = 16
_BACKOFFS: Final = (0.2, 0.5, 1, 2, 3, 5, 5, 5)


def configure(settings: kopf.OperatorSettings) -> None:
    """Set everything that is not as kopf has it."""
    settings.peering.standalone = True
    settings.posting.enabled = False
    # CRDs and namespaces are there before the operator is: no rights to watch either are asked for.
    settings.scanning.disabled = True
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=PREFIX)
    # Nothing compares old and new specs, and an experiment's spec is too large to be kept twice.
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=PREFIX, key="last-handled")
    settings.execution.default_backoff = 2
    settings.execution.max_workers = _WORKERS
    settings.queueing.worker_limit = _WORKERS
    settings.queueing.error_delays = _BACKOFFS
    settings.networking.error_backoffs = _BACKOFFS
    settings.networking.connect_timeout = 5
    settings.networking.request_timeout = 30
    for plural in ("pods", "statefulsets"):
        settings.watching.label_selectors[plural] = CLUSTER_LABEL  # all that we look at carry it
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.background.cancellation_polling = 2
    settings.process.ultimate_exiting_timeout = 20
