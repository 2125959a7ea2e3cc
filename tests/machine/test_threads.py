"""A process whose first thread has ended is not gone while other threads live: they hold its files open."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from highwater_chaos.machine.kernel.identity import Identity

FIRST_THREAD_ENDS = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("two threads", flush=True)
number = {"x86_64": 60, "aarch64": 93}[platform.machine()]
ctypes.CDLL(None).syscall(number, 0)  # exit(2): of this thread alone
"""


def test_it_is_gone_with_its_last_thread() -> None:
    with subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"two threads\n"
        identity = Identity.of(process.pid)
        assert identity is not None
        while _state(process.pid) != "Z":
            assert identity.state() == "running"
        assert identity.state() == "running"
        assert process.poll() is None
        assert not identity.wait_gone(0.05)

        assert identity.send(signal.SIGKILL)
        assert identity.wait_gone(30)
        assert identity.state() == "gone"
        assert process.wait() == -signal.SIGKILL


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
