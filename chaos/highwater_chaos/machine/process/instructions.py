"""An instruction to a program over its unix socket, and the instruction that undoes it.

For faults that a program brings about in itself (it holds messages back, lets its clock be wrong). One JSON object a
line, answered in order: ``{"id": 1, "method": …, "params": …}`` → ``{"id": 1, "result": …}`` or ``{"id": 1,
"error": …}``. The caller names each instruction, so that it can undo it without the program's answer. When a program
ends, its instructions are gone.

The program is not trusted (:mod:`~.control_socket`): an instruction is made and undone without the run's lock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.process.control_socket import NotListeningError, call_program
from highwater_chaos.machine.resource import TRANSIENT


@dataclass(frozen=True, slots=True)
class Instruction:
    """A call of ``method`` with ``params`` at the program behind ``socket``. ``undo_method`` with ``undo_params``
    undoes it. It is undone when ``probe_method`` with ``undo_params`` returns false (empty: there is no probe).
    ``process``: whose root directory the path of the socket begins with; its pid may be another's by now."""

    KIND: ClassVar[str] = "instruction"
    ALONE: ClassVar[bool] = False
    socket: str
    undo_method: str
    undo_params: dict[str, Any]
    probe_method: str = ""
    method: str = field(default="", metadata=TRANSIENT)
    params: dict[str, Any] = field(default_factory=dict, metadata=TRANSIENT)
    process: Identity | None = None

    def make(self, _held: Sequence[int]) -> Self:
        """Call ``method``; returns this instruction."""
        self.ask(self.method, self.params)
        return self

    def undo(self) -> None:
        """Call ``undo_method`` if the program still listens."""
        with suppress(NotListeningError):
            self.ask(self.undo_method, self.undo_params)

    def left(self) -> str | None:
        """Probe whether the instruction is still in force; returns it in words, or None if it is not."""
        if not self.probe_method:
            return None
        try:
            return self.describe() if self.ask(self.probe_method, self.undo_params) is not False else None
        except NotListeningError:
            return None

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send one request. Raises ``MachineError``; ``NotListeningError`` if the program has ended."""
        return call_program(self.socket, method, params, process=self.process)

    def describe(self) -> str:
        """Return in words which call undoes it, and at which socket."""
        return f"{self.undo_method} {json.dumps(self.undo_params)} owed to {self.socket}"
