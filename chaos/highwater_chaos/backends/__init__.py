"""Where an experiment runs. One protocol, so that schedule, faults and workload do not know which it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from highwater_chaos.backends.protocol import Backend

BACKENDS: Final = ("sim", "local")
"""Backends that this version has, by the name that ``--backend`` takes."""

ELSEWHERE: Final = ("kubernetes",)
"""Backends that run in a cluster and not in this process."""


REAL: Final = ("local", "attach")
"""Backends whose runs happen in real time, in this process."""


def make_backend(name: str, *, wire: bool = False) -> Backend:
    """A fresh backend for one run; nothing is made on the machine before its ``build``.

    ``wire``: every simulated message goes through the codec (real ones always do). Raises ``KeyError``.
    """
    match name:
        case "sim":
            from highwater_chaos.backends.sim import SimBackend  # noqa: PLC0415 - a backend brings much with it

            return SimBackend(codec="all" if wire else "some")
        case "local":
            from highwater_chaos.backends.local.isolated import local_backend  # noqa: PLC0415 - likewise

            return local_backend()
        case _:
            raise KeyError(name)
