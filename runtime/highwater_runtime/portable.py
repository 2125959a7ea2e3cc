"""Exceptions that keep their type and message when they cross processes.

``pickle`` rebuilds an exception by calling its class with ``args``. One whose ``__init__`` takes anything but its
message cannot be rebuilt so, and takes a whole process pool down with it. :class:`PortableError` rebuilds it from its
state.
"""

from __future__ import annotations

import pickle
from typing import Any


class PortableError(Exception):
    """Base of exceptions with an ``__init__`` of their own. What of their state does not pickle travels as its repr."""

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value if _travels(value) else repr(value) for name, value in vars(self).items()}
        return _rebuild, (type(self), self.args, state)


def _rebuild(cls: type[PortableError], args: tuple[object, ...], state: dict[str, Any]) -> PortableError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def _travels(value: object) -> bool:
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 - what this process has just written
    except Exception:  # whatever a foreign class does
        return False
    return True
