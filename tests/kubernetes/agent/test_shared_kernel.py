"""Nodes that share a kernel, as those of kind do: the same paths, one ``/sys/block``, and a ``/dev`` for each."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import until

from highwater_chaos.machine.kernel.identity import Identity

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root and a machine that can do everything")
DRIVER = Path(__file__).with_name("node_driver.py")
TOKEN = secrets.token_hex(4)
NAME = f"default_{TOKEN}-broker-0"
DEVICES = {"null": "1 3", "zero": "1 5", "random": "1 8", "urandom": "1 9", "loop-control": "10 237"}
_SCRIPT = """
set -e
mount --bind {own} {place}
mount -t tmpfs none /dev
{nodes}
echo up
exec sleep 100000
"""


class Node:
    """A mount namespace, and a program in it that does what an agent does with volumes."""

    def __init__(self, own: Path, place: Path) -> None:
        self.own, self.place = own, place
        own.mkdir(exist_ok=True)
        place.mkdir(exist_ok=True)
        self.boot()

    def boot(self) -> None:
        nodes = "\n".join(f"mknod /dev/{name} c {number}" for name, number in DEVICES.items())
        script = _SCRIPT.format(own=self.own, place=self.place, nodes=nodes)
        self.namespace = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        assert self.namespace.stdout is not None
        assert self.namespace.stdout.readline() == "up\n"
        self.start()

    def start(self) -> None:
        self.program = subprocess.Popen(
            [
                *("nsenter", f"--mount=/proc/{self.namespace.pid}/ns/mnt"),
                *(sys.executable, "-X", "faulthandler", str(DRIVER)),
                *(str(self.place / "state"), str(self.place / "mounts")),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.said() == "[]", "every volume is there again"

    def said(self) -> str:
        assert self.program.stdout is not None
        line = self.program.stdout.readline()
        assert line, f"the program has ended, exit status {self.program.wait(10)}"
        return line.strip()

    def do(self, command: str, name: str = NAME) -> str:
        assert self.program.stdin is not None
        self.program.stdin.write(f"{command} {name}\n")
        self.program.stdin.flush()
        return self.said()

    def stop(self) -> None:
        """SIGKILL to the agent; mounts stay."""
        self.program.kill()
        self.program.communicate()

    def crash(self) -> None:
        """All processes of the node end, and its mounts with them."""
        self.stop()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and (entry / "ns/mnt").stat().st_ino == self.inode:
                    identity = Identity.of(int(entry.name))
                    if identity is not None and identity.pid != self.namespace.pid:
                        os.kill(identity.pid, 9)
        self.namespace.kill()
        self.namespace.communicate()

    @property
    def inode(self) -> int:
        return Path(f"/proc/{self.namespace.pid}/ns/mnt").stat().st_ino

    def images(self) -> list[Path]:
        return sorted((self.own / "state" / "images").iterdir())


def loops() -> list[str]:
    """Files of these tests that loop devices of this kernel are over, by name: their paths end with a namespace."""
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            found.append(path.read_text(errors="surrogateescape").strip().rpartition("/")[2])
    return [one for one in found if TOKEN in one]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, Node]]:
    """Two; each test leaves no volume of its own on them, but for the last one."""
    folder = tmp_path_factory.mktemp("kind")
    made = tuple(Node(folder / name, folder / "highwater") for name in "ab")
    yield made[0], made[1]
    for one in made:
        assert one.do("end") == "[]"
        one.crash()
    until(lambda: loops() == [], "no device is left of nodes that ended", 30)


def test_a_broker_moves_and_comes_back(nodes: tuple[Node, Node]) -> None:
    """The same name on both nodes: each has its own disk, whatever the other does with the one at the same path."""
    a, b = nodes
    assert a.do("make") == b.do("make") == "True"
    assert a.do("write") == "None"
    assert b.do("read") == "([], None)"
    for done in ("lose", "wipe", "make"):
        b.do(done)
        assert a.do("read") == "(['file'], None)", f"{done} of the other's"
    assert b.do("write") == "None"
    assert a.do("lose") == "1"
    assert b.do("read") == "(['file'], None)"
    assert b.do("remove") == "True"
    assert a.do("write") == "None", "its device is attached for good"
    b.stop()
    b.start()
    assert b.do("make") == "True"
    assert b.do("read") == "([], None)"
    assert a.do("remove") == b.do("remove") == "True"
    until(lambda: loops() == [], "removed with their devices")


def test_devices_of_both_are_made_where_dev_lacks_them(nodes: tuple[Node, Node]) -> None:
    """Many at once: the numbers that one node uses are unknown in the other's ``/dev``."""
    a, b = nodes
    names = [f"default_{TOKEN}-broker-{number}" for number in range(4)]
    for name in names:
        assert a.do("make", name) == b.do("make", name) == "True"
    began = time.monotonic()
    for name in names:
        assert a.do("lose", name) == b.do("lose", name) == "0"
        assert a.do("remove", name) == b.do("remove", name) == "True"
    assert time.monotonic() - began < 60


@pytest.mark.thorough
def test_a_node_that_crashes_leaves_no_device_and_takes_none(nodes: tuple[Node, Node]) -> None:
    a, b = nodes
    for node in (a, b):
        assert node.do("make") == node.do("make", f"default_{TOKEN}-broker-1") == "True"
        assert node.do("write") == "None"
    assert len(loops()) == 4
    a.crash()
    until(lambda: len(loops()) == 2, "its devices go with it")
    assert b.do("read") == "(['file'], None)"
    a.boot()
    assert a.do("read") == "(['file'], None)"
    # Its disk is replaced while it is away, or deleted under what is mounted.
    a.crash()
    shutil.rmtree(a.own)
    a.own.mkdir()
    a.boot()
    assert a.do("make") == "True"
    assert a.do("read") == "([], None)"
    a.stop()
    for image in a.images():
        image.unlink()
    (a.own / "state" / "volumes" / f"{NAME}.json").unlink()
    a.start()
    assert a.do("make") == "True"
    assert a.do("read") == "([], None)", "never the file system of an image that was deleted"
    assert b.do("read") == "(['file'], None)"
    until(lambda: not any("deleted" in one for one in loops()), "over a deleted image")
