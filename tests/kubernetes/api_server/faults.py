"""Faults on request: what an API server does to its clients on a bad day.

A fault names the requests that it meets and what happens to them, how often, and whether before or after the server has
done what was asked: a write whose response is lost is the one that clients get wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal

from .errors import ApiError
from .http_request import Asked


@dataclass
class Fault:
    """One rule."""

    verb: str | None = None
    resource: str | None = None
    """``pods``, ``logclusters/status``."""
    name: str | None = None
    matches: Callable[[Asked], bool] = lambda asked: True
    times: int | None = 1
    """How many requests it meets; None: all."""
    skip: int = 0
    """How many requests of the kind pass first."""
    when: Literal["before", "after"] = "before"

    status: int | None = None
    """Answer with this status."""
    retry_after: int | None = None
    """Seconds, as a header."""
    reset: bool = False
    """Cut the connection."""
    end_watch_after: int | None = None
    """Cut a watch after so many events."""
    expire_watch_after: int | None = None
    """End a watch with an ERROR event 410 after so many events."""

    hits: list[Asked] = field(default_factory=list)
    """The requests that it met."""

    def meets(self, asked: Asked) -> bool:
        named = (self.verb, asked.verb), (self.resource, asked.resource), (self.name, asked.name)
        return all(wanted in (None, found) for wanted, found in named) and self.matches(asked)

    def error(self, asked: Asked) -> ApiError:
        """The response with ``status``."""
        assert self.status is not None
        reason = {409: "Conflict", 410: "Expired"}.get(self.status, HTTPStatus(self.status).phrase.replace(" ", ""))
        return ApiError(self.status, reason, f"injected for a test: {self.status} to {asked}", None, self.retry_after)


class Faults:
    """The faults in force."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def meet(self, asked: Asked) -> Fault | None:
        """The first fault that a request meets; it counts."""
        with self._lock:
            for fault in self._faults:
                if fault.times == 0 or not fault.meets(asked):
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                fault.hits.append(asked)
                return fault
        return None
