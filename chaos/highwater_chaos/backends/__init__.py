"""Where an experiment runs. One protocol, so that schedule, faults and workload do not know which it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from highwater_chaos.backends.protocol import Backend

BACKENDS: Final = ("sim", "local")
"""Backends that this version has, by the name that ``--backend`` takes."""

ELSEWHERE: Final = ("kubernetes",)
"""Backends that run in a cluster and not in this process."""


REAL: Final = ("local", "attach")
"""Backends whose runs happen in real time, in this process."""


def make_backend(name: str, *, wire: bool = False, commands_in: Path | None = None) -> Backend:
    """A fresh backend for one run; nothing is made on the machine before its ``build``.

    ``wire``: every simulated message goes through the codec (real ones always do). ``commands_in``: the directory in
    which a real run's commands of the user's run; None: they are not allowed. Raises ``KeyError``.
    """
    match name:
        case "sim":
            from highwater_chaos.backends.sim import SimBackend  # noqa: PLC0415 - a backend brings much with it

            return SimBackend(codec="all" if wire else "some")
        case "local":
            from highwater_chaos.backends.local.isolated import local_backend  # noqa: PLC0415 - likewise

            backend = local_backend()
            backend.commands_in = commands_in
            return backend
        case _:
            raise KeyError(name)
