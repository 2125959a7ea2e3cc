"""Turn the machine's errors into the exceptions of the backend's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.machine.errors import MachineError


@contextmanager
def asked(what: str) -> Iterator[None]:
    """For methods of a backend, or blocks, that ask the machine for something: ``MachineError`` and ``OSError`` become
    ``BackendError``. ``what``: it is, in words."""
    try:
        yield
    except (MachineError, OSError) as error:
        raise BackendError(f"{what}: {error}") from error
