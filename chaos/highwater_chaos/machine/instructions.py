"""Something that a program was told over its unix socket, and can be told the opposite of.

For faults that a program brings about in itself (it holds messages back, lets its clock be wrong). One JSON object a
line, answered in order: ``{"id": 1, "method": …, "params": …}`` → ``{"id": 1, "result": …}`` or ``{"id": 1,
"error": …}``. The caller names each instruction, so that it can be taken back without knowing what
the program answered; a program that ended has forgotten it.
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
    """The program at ``socket`` was told ``method`` with ``params``, and is to be told ``undo_method`` with
    ``undo_params``; nothing is left once ``probe_method`` with ``undo_params`` says false (empty: it cannot be
    asked)."""

    KIND: ClassVar[str] = "instruction"
    ALONE: ClassVar[bool] = False
    socket: str
    undo_method: str
    undo_params: dict[str, Any]
    probe_method: str = ""
    method: str = field(default="", metadata=TRANSIENT)
    params: dict[str, Any] = field(default_factory=dict, metadata=TRANSIENT)

    def make(self, _held: Sequence[int]) -> Self:
        """Tell it."""
        call_program(self.socket, self.method, self.params)
        return self

    def undo(self) -> None:
        """Tell it the opposite, where it still listens."""
        if _listens(self.socket):
            call_program(self.socket, self.undo_method, self.undo_params)

    def left(self) -> str | None:
        """Whether it still does what it was told."""
        if not self.probe_method or not _listens(self.socket):
            return None
        return self.describe() if call_program(self.socket, self.probe_method, self.undo_params) is not False else None

    def describe(self) -> str:
        """What takes it back, and where."""
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
            raise MachineError(f"{path} was told {method} and gave no answer: {error}") from error
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
