"""The proxy as a process: it starts its node, ends with it, takes rules, and gets what comes to the node's port."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import until as wait_until

from highwater_runtime.wire.framing import encode_request
from highwater_runtime.wire.messages.metadata_request import MetadataRequest


def request(number: int, client: str = "client", body: object = None, version: int = 12) -> bytes:
    return b"".join(encode_request(body or MetadataRequest(), version, number, client))


PROXY = "highwater_runtime.host.proxy.main"
NODE = """
import os, signal, socket, sys, threading
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
def serve(sock):
    file = sock.makefile("rb")
    while head := file.read(4):
        frame = file.read(int.from_bytes(head))
        sock.sendall(bytes((0, 0, 0, 4)) + frame[4:8])
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print(os.getpid(), flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


class Launched:
    """A proxy that has started a node."""

    def __init__(self, free_ports, *extra, host="127.0.0.1", where=None, code=NODE, program=("-m", PROXY)):
        inner, outer = free_ports(2)
        self.port = inner if where else outer
        self.host = host
        where = where or ["--listen", f"{host}:{outer}"]
        options = ["--node", "broker-0", "--target", f"{host}:{inner}", *where, *extra]
        self.process = subprocess.Popen(
            [sys.executable, *program, *options, "--", sys.executable, "-c", code, host, str(inner)],
            stdout=subprocess.PIPE,
        )
        self.child = int(self.process.stdout.readline())

    def connect(self):
        def attempt():
            try:
                return socket.create_connection((self.host, self.port), 60)
            except ConnectionRefusedError:
                return None

        return wait_until(attempt, "the proxy to listen")

    def ask(self, sock, number):
        sock.sendall(request(number))
        assert int.from_bytes(sock.recv(8, socket.MSG_WAITALL)[4:]) == number

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def launch(processes):
    made = []

    def start(*extra, **options):
        made.append(Launched(processes.free_ports, *extra, **options))
        return made[-1]

    yield start
    for one in made:
        one.close()


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize(
    ("victim", "number", "status"),
    [
        ("child", signal.SIGKILL, -signal.SIGKILL),
        ("child", signal.SIGSEGV, -signal.SIGSEGV),
        ("child", signal.SIGTERM, 143),
        ("process", signal.SIGTERM, 143),
        ("process", signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_node_and_proxy_end_together_and_alike(launch, victim, number, status):
    node = launch()
    sock = node.connect()
    node.ask(sock, 3)
    os.kill(node.child if victim == "child" else node.process.pid, number)
    assert node.process.wait(60) == status
    wait_until(lambda: is_gone(node.child), "the node to be gone")
    with contextlib.suppress(ConnectionResetError):
        assert sock.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((node.host, node.port))


def test_what_a_node_sent_before_its_end_arrives(launch):
    """Also if its peer does not read it at once."""
    code = NODE.replace("frame[4:8])", "frame[4:8])\n        sock.sendall(bytes(2 << 24)); os._exit(7)")
    node = launch(code=code.replace("(0, 0, 0, 4)", "(2, 0, 0, 4)"))
    sock = node.connect()
    sock.sendall(request(1))
    time.sleep(0.2)
    assert len(b"".join(iter(lambda: sock.recv(1 << 16), b""))) == (2 << 24) + 8
    assert node.process.wait(60) == 7


def test_rules_come_by_the_control_socket(launch, processes):
    control = processes.make("proxy")
    node = launch("--control", str(control.control_path))
    assert control.control("ping") == {"node": "broker-0"}
    rule = control.control("addRule", key="k", action="drop", rpc="Metadata", sources=["client"])
    sock, other = node.connect(), node.connect()
    sock.sendall(request(1))
    other.sendall(request(2, "other"))
    assert other.recv(8, socket.MSG_WAITALL)[4:] == struct.pack(">i", 2)
    wait_until(lambda: control.control("ruleMatches", rule=rule), "the rule to catch the request")
    assert control.control("ruleMatches", rule=rule) == 1
    assert control.control("hasRule", key="k") is True
    control.control("removeRule", rule=rule)
    assert control.control("hasRule", key="k") is False
    with pytest.raises(ValueError, match="unknown method 'clock'"):
        control.control("clock", offsetNs=1, rate=1)


BROKEN = """
import sys
from highwater_runtime.host.proxy import main, upstream
upstream.Upstream.send = lambda *_: 1 / 0
main.main(sys.argv[1:])
"""


def test_a_proxy_that_fails_takes_its_node_along_and_says_nothing_of_the_node(launch, capfd):
    """By SIGKILL, as if the harness had: a status would be taken for the node's own end, and so for a finding."""
    node = launch(program=("-c", BROKEN))
    node.connect().sendall(request(1))
    assert node.process.wait(60) == -signal.SIGKILL
    wait_until(lambda: is_gone(node.child), "the node to be gone")
    assert "the proxy has failed" in capfd.readouterr().err


def test_a_proxy_alone_serves_a_node_that_is_there_and_ends_when_asked(launch, processes):
    """As beside a pod."""
    node = launch()
    (port,) = processes.free_ports(1)
    command = [sys.executable, "-m", PROXY, "--node", "n"]
    alone = subprocess.Popen(
        [*command, "--target", f"{node.host}:{node.port}", "--listen", f"{node.host}:{port}"],
    )
    try:
        node.port = port
        sock = node.connect()
        node.ask(sock, 9)
        alone.send_signal(signal.SIGTERM)
        assert alone.wait(60) == 0
        assert sock.recv(1) == b""
        assert not is_gone(node.child)
    finally:
        alone.kill()
        alone.wait()


REDIRECTED = """
import os, socket, subprocess, sys, time
from pathlib import Path
from test_proxy_process import Launched, NODE, PROXY, request
run = lambda *words: subprocess.run(words, check=True)
run("ip", "link", "set", "lo", "up")
run("ip", "address", "add", "10.99.0.1/24", "dev", "lo")
run("ip", "address", "add", "10.99.0.2/24", "dev", "lo")
ports = lambda count: [9092, 0]
def refused():
    try:
        socket.create_connection(("10.99.0.1", 9092)).close()
    except ConnectionRefusedError:
        return True
node = Launched(ports, "--peer", "broker-1=1@10.99.0.2", host="10.99.0.1", where=["--redirect"])
sock = node.connect()
node.ask(sock, 1)
assert sock.getpeername() == ("10.99.0.1", 9092)
node.process.kill()
node.process.wait()
while not refused():
    time.sleep(0.01)
node.process.stdout.close()
alone = subprocess.Popen([sys.executable, "-c", NODE, "10.99.0.1", "9092"], stdout=subprocess.PIPE)
alone.stdout.readline()
time.sleep(0.2)
assert refused(), "nobody gets past the proxy"
proxy = subprocess.Popen([sys.executable, "-m", PROXY, "--node", "n", "--target", "10.99.0.1:9092", "--redirect"])
node.ask(node.connect(), 2)
proxy.kill()
alone.kill()
print("as it should be")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
def test_connections_to_the_nodes_own_port_are_redirected():
    """The peer sees the node's address. While there is no proxy, nobody reaches the node."""
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", REDIRECTED],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.strip() == "as it should be", done.stderr
