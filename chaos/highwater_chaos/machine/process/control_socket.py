"""One request and its answer over a program's unix socket. The program is not trusted.

An exchange has one deadline for all of it (:data:`ANSWERS_WITHIN`) and one limit of size (:data:`MOST_BYTES`); whatever
else comes back than one line with a JSON object is an error that says so. The socket is opened where it lies without
following a link (``kernel.safe_open``). Nobody may hold the run's lock meanwhile, which deadlines of others need
(``runs.apart``).
"""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NoReturn

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.safe_open import open_beneath, open_root, split_root

ANSWERS_WITHIN: Final = 5.0
"""Seconds for connecting, sending and receiving together."""
MOST_BYTES: Final = 64 << 10
"""Of an answer; ours are shorter than 1 KiB."""
_MOST_SHOWN: Final = 300


class NotListeningError(MachineError):
    """No process serves the socket: the program has ended, and what it was told has ended with it."""


def call_program(
    path: str, method: str, params: Mapping[str, Any] | None = None, *, process: Identity | None = None
) -> Any:
    """Send one request and wait for its answer. ``process``: the one whose root directory ``path`` begins with.

    Raises:
        NotListeningError: no process listens.
        MachineError: the program refused, went away, did not answer in time, or its answer is none.
    """
    request = json.dumps({"id": 1, "method": method, "params": dict(params or {})}).encode() + b"\n"
    deadline = time.monotonic() + ANSWERS_WITHIN
    try:
        with closing(_connect(path, process, deadline)) as end:
            end.settimeout(_left(deadline))
            end.sendall(request)
            return read_answer(end, deadline, path, method)
    except TimeoutError as error:
        raise MachineError(f"{path} did not respond to {method} within {ANSWERS_WITHIN:g} s") from error
    except OSError as error:
        raise MachineError(f"{path} did not respond to {method}: {error}") from error


def read_answer(end: socket.socket, deadline: float, path: str, method: str) -> Any:
    """The result in a program's answer. Raises ``MachineError`` for what is none, ``OSError``; ``TimeoutError`` at the
    deadline (of ``time.monotonic``)."""
    return _result(_line(end, deadline, f"{path}, told {method},"), path, method)


def _connect(path: str, process: Identity | None, deadline: float) -> socket.socket:
    place = _open_socket(path, process)
    try:
        if not stat.S_ISSOCK(mode := os.fstat(place).st_mode):
            raise MachineError(f"{path} is no socket: expected one, found mode {mode:o}")
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            end.settimeout(_left(deadline))
            # By the descriptor: what has been put at the path since does not matter.
            end.connect(f"/proc/self/fd/{place}")
        except ConnectionRefusedError as error:
            end.close()
            raise NotListeningError(f"no process listens at {path}") from error
        except BaseException:
            end.close()
            raise
        return end
    finally:
        os.close(place)


def _open_socket(path: str, process: Identity | None) -> int:
    root, below = split_root(path)
    try:
        if process is None:
            return open_beneath(Path(root), below, os.O_PATH)
        opened = open_root(process)
        try:
            return open_beneath(opened, below, os.O_PATH)
        finally:
            os.close(opened)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotListeningError(f"there is no socket {path}") from error


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _line(end: socket.socket, deadline: float, whom: str) -> bytes:
    got = bytearray()
    while b"\n" not in got:
        end.settimeout(_left(deadline))
        data = end.recv(MOST_BYTES + 1 - len(got))
        if not data:
            raise MachineError(f"{whom} went away before it answered")
        got += data
        if len(got) > MOST_BYTES:
            raise MachineError(f"{whom} answered with more than {MOST_BYTES} bytes")
    return bytes(got[: got.index(b"\n")])


def _result(line: bytes, path: str, method: str) -> Any:
    try:
        answer = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        shown = line[:_MOST_SHOWN].decode("ascii", "backslashreplace")
        raise MachineError(
            f"{path} answered {method} with what is no JSON: {shown!r} ({type(error).__name__})"
        ) from error
    if not isinstance(answer, dict) or not answer.keys() & {"result", "error"}:
        raise MachineError(
            f"{path} answered {method} with something else: expected an object with 'result' or 'error', "
            f"found {str(answer)[:_MOST_SHOWN]!r}"
        )
    if "error" in answer:
        raise MachineError(f"{path} refused {method}: {str(answer['error'])[:_MOST_SHOWN]}")
    return answer.get("result")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")
