"""Refusals of requests: an HTTP status, what was expected and what was found."""

from __future__ import annotations

from typing import Any

from highwater_runtime.portable import PortableError


class RefusalError(PortableError):
    """A request that is not carried out."""

    def __init__(self, status: int, error: str, *, expected: str = "", found: str = "") -> None:
        super().__init__(error)
        self.status = status
        self.body: dict[str, Any] = {"error": error, "expected": expected, "found": found}
