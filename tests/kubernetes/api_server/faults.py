"""Faults on request: what an API server does to its clients on a bad day.

A fault names the requests that it meets (verb, resource, name, user agent, or any test of the request) and what happens
to them, how often, and whether before or after the server has done what was asked: a write whose answer is lost is the
one that clients get wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from .errors import ApiError
from .http_request import Asked

When = Literal["before", "after"]


@dataclass
class Fault:
    """One rule. ``times`` is how many requests it meets before it is spent; none for all."""

    verb: str | None = None
    resource: str | None = None
    """``pods``, ``logclusters/status``."""
    name: str | None = None
    namespace: str | None = None
    matches: Callable[[Asked], bool] | None = None
    times: int | None = 1
    skip: int = 0
    """How many requests of the kind are let through first."""
    when: When = "before"

    status: int | None = None
    """Answer with this status: 409, 429, 500, 503, 504 …"""
    retry_after: int | None = None
    """Seconds, as the header of a 429 or 503."""
    delay: float = 0.0
    """Seconds until the request goes on."""
    reset: bool = False
    """The connection is cut instead of an answer."""
    hang: bool = False
    """No answer ever comes, until the client gives up."""
    end_watch_after: int | None = None
    """For watches: the stream is cut after so many events."""
    expire_watch_after: int | None = None
    """For watches: an ERROR event 410 comes after so many events."""

    hits: list[Asked] = field(default_factory=list)
    """The requests that it met."""

    def meets(self, asked: Asked) -> bool:
        """Whether it is about a request."""
        return (
            (self.verb is None or self.verb == asked.verb)
            and (self.resource is None or self.resource == asked.resource)
            and (self.name is None or self.name == asked.name)
            and (self.namespace is None or self.namespace == asked.namespace)
            and (self.matches is None or self.matches(asked))
        )

    def error(self, asked: Asked) -> ApiError:
        """The answer with ``status``."""
        reasons = {
            401: "Unauthorized",
            403: "Forbidden",
            404: "NotFound",
            409: "Conflict",
            410: "Expired",
            422: "Invalid",
            429: "TooManyRequests",
            500: "InternalError",
            503: "ServiceUnavailable",
            504: "Timeout",
        }
        assert self.status is not None
        message = f"injected for a test: {self.status} to {asked}"
        if self.status == 500:
            message = f"Internal error occurred: {message}"
        return ApiError(self.status, reasons.get(self.status, "Unknown"), message, retry_after=self.retry_after)


class Faults:
    """The faults in force."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        """In force from now on; ask it later for its ``hits``."""
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """None any more."""
        with self._lock:
            self._faults.clear()

    def meet(self, asked: Asked) -> Fault | None:
        """The first fault that a request meets; it counts as met."""
        if not self._faults:
            return None
        with self._lock:
            for fault in self._faults:
                if not fault.meets(asked):
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                if fault.times is not None:
                    if fault.times <= 0:
                        continue
                    fault.times -= 1
                fault.hits.append(asked)
                return fault
        return None
