"""``hostile_node.py highwater-node MODE``: a node that behaves until the file MODE names an attack.

Serves a control socket and port 9404. Says ``up`` when both listen.
"""

import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

MODE = Path(sys.argv[2])
SOCKET = "/run/highwater/control.sock"
known: set[str] = set()


def mode() -> str:
    return MODE.read_text().strip() if MODE.exists() else ""


def honest(request: dict) -> object:
    key = request["params"].get("key", "")
    match request["method"]:
        case "addRule":
            known.add(key)
        case "dropRule":
            known.discard(key)
        case "hasRule":
            return key in known
        case "ruleMatches":
            return 0
    return None


def attack(end: socket.socket, what: str, head: bytes) -> None:
    match what:
        case "garbage":
            end.sendall(b"garbage\n")
        case "list":
            end.sendall(b"[]\n")
        case "deep":
            end.sendall(b"[" * 20_000 + b"\n")
        case "digits":
            end.sendall(b'{"id": 1, "result": ' + b"9" * 20_000 + b"}\n")
        case "drip":
            end.sendall(head)
            while True:
                end.sendall(b" ")
                time.sleep(0.5)
        case "endless":
            end.sendall(head)
            while True:
                end.sendall(b" " * 65_536)
        case "silent":
            time.sleep(3600)


def serve_control(end: socket.socket) -> None:
    try:
        with end, end.makefile("rb") as lines:
            for line in lines:
                if what := mode():
                    attack(end, what, b"")
                    return
                answer = {"id": 1, "result": honest(json.loads(line))}
                end.sendall(json.dumps(answer).encode() + b"\n")
    except OSError:
        return


def serve_admin(end: socket.socket) -> None:
    try:
        with end:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (more := end.recv(65_536)):
                    return  # a probe that only connects
                head += more
            if what := mode():
                attack(end, what, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
                return
            end.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 1\n")
    except OSError:
        return


def accept(listener: socket.socket, serve) -> None:
    while True:
        end, _ = listener.accept()
        threading.Thread(target=serve, args=(end,), daemon=True).start()


os.makedirs(os.path.dirname(SOCKET), exist_ok=True)  # noqa: PTH103, PTH120
control = socket.socket(socket.AF_UNIX)
control.bind(SOCKET)
control.listen(64)
admin = socket.socket()
admin.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
admin.bind(("0.0.0.0", 9404))
admin.listen(256)
threading.Thread(target=accept, args=(control, serve_control), daemon=True).start()
sys.stdout.write("up\n")
sys.stdout.flush()
accept(admin, serve_admin)
