"""What everything made on a machine is: one value that carries its make, its undo and what is left of it.

A resource is a frozen dataclass of plain fields, because the journal keeps it as JSON and a healer in another process,
years of code later, must be able to undo it from that alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Protocol, Self

TRANSIENT: Final = {"journal": False}
"""``field(metadata=TRANSIENT)``: needed to make the resource, not to undo it; the journal does not keep it."""


class Resource(Protocol):
    """One thing made on this machine, or one fault brought about on it."""

    KIND: ClassVar[str]
    ALONE: ClassVar[bool]
    """Whether there can be only one of it: where something is :meth:`left` before it is made, that is another's, and
    making it is refused instead of undone."""
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def make(self, held: Sequence[int], /) -> Self:
        """Make it; returns the resource with what only then is known (a pid, a device).

        Every program started on the way must inherit the file descriptors ``held`` (``pass_fds``): they are the run's
        lock, which must stay taken while anything may still be made, even when this process is killed meanwhile.

        Raises:
            MachineError, OSError: it could not be made; what was half made is undone with :meth:`undo`.
        """

    def undo(self) -> None:
        """Undo it, also if it was only half made, undone before, or made by a process that has ended. Idempotent.

        Raises:
            MachineError, OSError: something is in the way; :meth:`left` reports what is left.
        """

    def left(self) -> str | None:
        """Probe: what is there of it now, in words; None: nothing."""

    def describe(self) -> str:
        """What it is, for people: ``packets from 10.77.1.1 dropped in hw-1f2e-broker-1``."""
