"""Turn the machine's errors into the exceptions of the backend's protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.machine.errors import MachineError

P = ParamSpec("P")
R = TypeVar("R")


def acting(method: Callable[P, R]) -> Callable[P, R]:
    """For methods of a backend that act on the machine: ``MachineError`` and ``OSError`` become ``BackendError``."""

    @wraps(method)
    def act(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (MachineError, OSError) as error:
            raise BackendError(f"{method.__name__.replace('_', ' ')}: {error}") from error

    return act
