"""What a pod that runs as root puts on its own disk: no file of the node is touched, and no other pod's fault waits."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_world import Agent, Pod, World, confirmed, stopped
from test_disks import crashable
from waiting import until

from highwater_chaos.machine.disk.power_loss import held_bytes
from highwater_chaos.machine.disk.volumes import users_of

NAMES = (".highwater-probe", ".highwater-ballast")
SECRET = b"root:x:0:0:root:/root:/bin/bash\n" * 300
FAULTS = ("diskFull", "diskError", "powerLoss", "diskWipe")


def socket_at(path: Path) -> None:
    os.chdir(path.parent)  # the path is longer than a socket's may be
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(path.name)
    os.chdir("/")


PLANTS: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda place, outside: place.symlink_to(outside / "passwd"),
    "dangling-link": lambda place, outside: place.symlink_to(outside / "cron.d"),
    "link-to-directory": lambda place, outside: place.symlink_to(outside),
    "pipe": lambda place, outside: os.mkfifo(place),
    "socket": lambda place, outside: socket_at(place),
    "directory": lambda place, outside: place.mkdir(),
    "file": lambda place, outside: place.write_bytes(b"mine"),
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "passwd").write_bytes(SECRET)
    return folder


@pytest.fixture
def victim(agent: Agent, world: World, request: pytest.FixtureRequest) -> Iterator[Pod]:
    """Another pod, whose pause ends while the hostile one's faults come and go."""
    pod = world.pod(f"victim-{abs(hash(request.node.name)) % 10**8}-broker-0")
    pod.start_node()
    agent.inject(f"{pod.name}-pause", "pause", pod, seconds=3)
    began = time.monotonic()
    yield pod
    until(lambda: not stopped(pod), "it runs again after its deadline", max(0.1, 10 - (time.monotonic() - began)))


@pytest.mark.parametrize("plant", PLANTS)
def test_nothing_that_a_pod_plants_is_followed_or_waited_for(
    agent: Agent, world: World, outside: Path, victim: Pod, plant: str
) -> None:
    pod = crashable(world, f"plants-{plant}-broker-0")
    pod.start_container("/bin/sleep", "1000", executable="highwater-node")
    for name in NAMES:
        PLANTS[plant](pod.data.parent / name, outside)
    for fault in FAULTS:
        began = time.monotonic()
        answer = agent.put(f"{plant}-{fault}", fault, pod, seconds=60)
        agent.heal(f"{plant}-{fault}")
        assert time.monotonic() - began < 30
        if fault == "diskFull":
            assert answer.status_code == 500, "what is in the place of the ballast is not ours to replace"
            assert ".highwater-ballast" in answer.json()["error"]
        else:
            assert answer.status_code == 200, answer.text
            confirmed(answer.json(), "inject")
    assert (outside / "passwd").read_bytes() == SECRET
    assert [path.name for path in outside.iterdir()] == ["passwd"]


def test_a_pipe_in_the_place_of_the_ballast_keeps_no_disk_full(agent: Agent, world: World) -> None:
    """Put there while the fault is in force."""
    pod = crashable(world, "replaces-broker-0")
    agent.inject("replaces-1", "diskFull", pod)
    ballast = pod.data.parent / ".highwater-ballast"
    ballast.unlink()
    os.mkfifo(ballast)
    confirmed(agent.heal("replaces-1"), "heal")
    assert not ballast.exists()


def test_a_disk_that_is_not_given_back_is_in_nobody_else_s_way(agent: Agent, world: World, victim: Pod) -> None:
    """A process of another works on it, so its power loss waits and fails; other disks break and heal meanwhile."""
    held, other = crashable(world, "occupied-broker-0"), crashable(world, "free-broker-0")
    node = held.start_container("/bin/sleep", "1000", executable="highwater-node")
    ended: list[int] = []
    with subprocess.Popen(["/bin/sleep", "1000"], cwd=held.data) as holder:
        slow = threading.Thread(target=lambda: ended.append(agent.put("held-1", "powerLoss", held).status_code))
        slow.start()
        until(lambda: node.poll() is not None, "it has begun")
        for fault in FAULTS:
            confirmed(agent.inject(f"free-{fault}", fault, other, seconds=60), "inject")
            agent.heal(f"free-{fault}")
        until(lambda: not stopped(victim), "its deadline does not wait")
        assert ended == [], "the held one is still under way"
        holder.kill()
        slow.join(60)


DEEP = 6000
"""Deeper than Python recurses, than there are descriptors, and than a path is long."""


def nest(top: Path) -> None:
    fd = os.open(top, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    with os.fdopen(os.open("last", os.O_WRONLY | os.O_CREAT, dir_fd=fd), "wb") as file:
        file.write(b"x" * 5000)
        file.flush()
        os.fsync(file.fileno())
    os.close(fd)


@pytest.mark.parametrize("keep", ["none", "torn"])
def test_a_power_loss_of_directories_nested_too_deep_for_a_path(agent: Agent, world: World, keep: str) -> None:
    pod = crashable(world, f"deep-{keep}-broker-0")
    node = pod.start_container("/bin/sleep", "1000", executable="highwater-node")
    nest(pod.data)
    record = agent.inject(f"deep-{keep}", "powerLoss", pod, keep=keep)
    confirmed(record, "inject")
    assert record["evidence"][1]["details"]["bytes"] == 5000
    assert node.wait(10) == -9


MAPS = """
import ctypes, os, sys
os.chdir(sys.argv[1])
for _ in range(15):
    name = "m" * 250
    os.makedirs(name, exist_ok=True)
    os.chdir(name)
file = open("f", "w+b")
file.truncate(8192)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for number in range(20_000):
    libc.mmap(None, 4096, 1 + 2 * (number % 2), 1, file.fileno(), 0)
print("up", flush=True)
sys.stdin.read()
"""


def test_mappings_of_others_are_read_in_pieces(tmp_path: Path) -> None:
    """20,000 mappings, 77 MB of text: looked at by a process that may have less memory than that."""
    arguments = [sys.executable, "-c", MAPS, str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        look = (
            "import resource, sys; from pathlib import Path; from highwater_chaos.machine.disk.volumes import users_of;"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; found = users_of(Path(sys.argv[1]));"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, [one.pid for one in found])"
        )
        below = tmp_path / ("m" * 250)
        said = subprocess.run([sys.executable, "-c", look, str(below)], capture_output=True, text=True, check=True)
        grown, pids = said.stdout.split(" ", 1)
        assert int(grown) < 16 << 10, "KiB"
        assert str(child.pid) in pids
        assert users_of(tmp_path / "none") == []
        child.kill()


def test_a_pipe_among_the_files_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "file").write_bytes(b"x" * 10)
    assert list(held_bytes(tmp_path, "torn").sizes.values()) == [10]
