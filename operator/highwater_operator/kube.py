"""The API server, asked from asyncio: :class:`~highwater_chaos.kube.client.Kube` on a small pool of threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import kubernetes

from highwater_chaos.kube.client import PATIENCE, Kube
from highwater_operator import metrics

FIELD_MANAGER: Final = "highwater-operator"
_THREADS: Final = 32
"""A request that is tried again keeps its thread: more than are ever under way while the API server is well."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _on_a_thread(
    method: Callable[Concatenate[Kube, _P], _T],
) -> Callable[Concatenate[AsyncKube, _P], Coroutine[Any, Any, _T]]:
    async def call(self: AsyncKube, /, *args: _P.args, **named: _P.kwargs) -> _T:
        ask = partial(method, self.kube, *args, **named)
        return await asyncio.get_running_loop().run_in_executor(self.threads, ask)

    return call


class AsyncKube:
    """Access to one API server. Methods may be called concurrently, and do what those of ``Kube`` do."""

    def __init__(self, configuration: kubernetes.client.Configuration, *, patience: float = PATIENCE) -> None:
        self.configuration = configuration
        self.kube = Kube(configuration, manager=FIELD_MANAGER, patience=patience, count=_count)
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="kube")

    def close(self) -> None:
        """Close the client; requests under way are dropped."""
        self.kube.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    get = _on_a_thread(Kube.get)
    list = _on_a_thread(Kube.list)
    apply = _on_a_thread(Kube.apply)
    create = _on_a_thread(Kube.create)
    patch = _on_a_thread(Kube.patch)
    patch_status = _on_a_thread(Kube.patch_status)
    set_finalizers = _on_a_thread(Kube.set_finalizers)
    delete = _on_a_thread(Kube.delete)


def _count(verb: str, status: str) -> None:
    metrics.API_REQUESTS.labels(verb, status).inc()
