"""An instruction to a program over its unix socket, and the instruction that undoes it.

For faults that a program brings about in itself (it holds messages back, lets its clock be wrong). One JSON object a
line, answered in order: ``{"id": 1, "method": …, "params": …}`` → ``{"id": 1, "result": …}`` or ``{"id": 1,
"error": …}``. The caller names each instruction, so that it can undo it without the program's answer. When a program
ends, its instructions are gone.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.resource import TRANSIENT

_PATIENCE: Final = 10.0


@dataclass(frozen=True, slots=True)
class Instruction:
    """A call of ``method`` with ``params`` at the program behind ``socket``. ``undo_method`` with ``undo_params``
    undoes it. It is undone when ``probe_method`` with ``undo_params`` returns false (empty: there is no probe)."""

    KIND: ClassVar[str] = "instruction"
    ALONE: ClassVar[bool] = False
    socket: str
    undo_method: str
    undo_params: dict[str, Any]
    probe_method: str = ""
    method: str = field(default="", metadata=TRANSIENT)
    params: dict[str, Any] = field(default_factory=dict, metadata=TRANSIENT)

    def make(self, _held: Sequence[int]) -> Self:
        """Call ``method``; returns this instruction."""
        call_program(self.socket, self.method, self.params)
        return self

    def undo(self) -> None:
        """Call ``undo_method`` if the program still listens."""
        if _listens(self.socket):
            call_program(self.socket, self.undo_method, self.undo_params)

    def left(self) -> str | None:
        """Probe whether the instruction is still in force; returns it in words, or None if it is not."""
        if not self.probe_method or not _listens(self.socket):
            return None
        return self.describe() if call_program(self.socket, self.probe_method, self.undo_params) is not False else None

    def describe(self) -> str:
        """Return in words which call undoes it, and at which socket."""
        return f"{self.undo_method} {json.dumps(self.undo_params)} owed to {self.socket}"


def call_program(path: str, method: str, params: Mapping[str, Any] | None = None) -> Any:
    """Send one request and wait for its answer.

    Raises:
        MachineError: no process listens, or the program refused, went away or did not answer in time.
    """
    request = json.dumps({"id": 1, "method": method, "params": dict(params or {})}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as end:
        end.settimeout(_PATIENCE)
        try:
            end.connect(path)
            end.sendall(request)
            with end.makefile("rb") as lines:
                line = lines.readline()
        except OSError as error:
            raise MachineError(f"{path} was sent {method} and gave no answer: {error}") from error
    if not line.endswith(b"\n"):
        raise MachineError(f"{path} went away before it answered {method}")
    answer = json.loads(line)
    if "error" in answer:
        raise MachineError(f"{path} refused {method}: {answer['error']}")
    return answer.get("result")


def _listens(path: str) -> bool:
    if not Path(path).exists():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as end:
        end.settimeout(_PATIENCE)
        try:
            end.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except TimeoutError:
            return True  # its queue is full: it lives and does not answer
    return True
