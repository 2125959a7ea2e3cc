"""Something that a program was told over its unix socket, and can be told the opposite of.

For faults that a program brings about in itself (it holds messages back, lets its clock be wrong). One JSON object a
line, answered in order: ``{"id": 1, "method": …, "params": …}`` → ``{"id": 1, "result": …}`` or ``{"id": 1,
"error": …}``. The caller names each instruction, so that it can be taken back without knowing what
the program answered; a program that ended has forgotten it.

The program is not trusted (:mod:`~.conversation`): an instruction is made and undone without the run's lock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from highwater_chaos.machine.conversation import NotListeningError, call_program
from highwater_chaos.machine.identity import Identity
from highwater_chaos.machine.resource import TRANSIENT


@dataclass(frozen=True, slots=True)
class Instruction:
    """The program at ``socket`` was told ``method`` with ``params``, and is to be told ``undo_method`` with
    ``undo_params``; nothing is left once ``probe_method`` with ``undo_params`` says false (empty: it cannot be
    asked). ``process``: whose root directory the path of the socket begins with; its pid may be another's by now."""

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
        """Tell it."""
        self.ask(self.method, self.params)
        return self

    def undo(self) -> None:
        """Tell it the opposite, where it still listens."""
        with suppress(NotListeningError):
            self.ask(self.undo_method, self.undo_params)

    def left(self) -> str | None:
        """Whether it still does what it was told."""
        if not self.probe_method:
            return None
        try:
            return self.describe() if self.ask(self.probe_method, self.undo_params) is not False else None
        except NotListeningError:
            return None

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Ask the program that was told. Raises ``MachineError``; ``NotListeningError`` where it has ended."""
        return call_program(self.socket, method, params, process=self.process)

    def describe(self) -> str:
        """What takes it back, and where."""
        return f"{self.undo_method} {json.dumps(self.undo_params)} owed to {self.socket}"
