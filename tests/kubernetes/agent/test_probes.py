"""What the agent takes for an answer of a pod's admin server."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent.probes import Timed, ask

PAGE = b"up 1\nlog_size 1234\n"


def answered(content: bytes) -> tuple[int, bytes]:
    """What becomes of a page of which the pod sends ``content`` before its process is gone."""
    near, far = socket.socketpair()
    end = Timed(fileno=near.detach())
    end.until = time.monotonic() + 5.0

    def serve() -> None:
        far.recv(65536)
        far.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + content)
        far.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        return ask(end, 9404, "/metrics")
    finally:
        thread.join()


def test_a_page_is_whole() -> None:
    assert answered(PAGE) == (200, PAGE)


@pytest.mark.parametrize("sent", [0, 7, len(PAGE) - 3])
def test_a_page_that_is_cut_short_is_none(sent: int) -> None:
    """A node may be killed in the middle: ``log_size 12`` is a sample too, and a wrong one."""
    with pytest.raises(MachineError, match=f"{len(PAGE) - sent} bytes of it are missing"):
        answered(PAGE[:sent])
