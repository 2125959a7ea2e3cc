"""What happens to a session through kazoo when its server dies, or leaves a request without an answer."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

import pytest
from conformance import JARS, RealPlace, real_server

from highwater_runtime.ports.coordination import (
    Create,
    Created,
    Exists,
    Failure,
    Get,
    SessionEvent,
    Stat,
    WatchEvent,
    WatchKind,
)


@pytest.mark.skipif(not all(Path(jar).exists() for jar in JARS.split(":")), reason="no ZooKeeper here")
def test_a_session_outlives_its_server(tmp_path: Path) -> None:
    with real_server(tmp_path) as port:
        place = RealPlace(port)
        told = place.open()
        for operation, watch in ((Create("/owner", ephemeral=True), False), (Get("/owner"), True)):
            told.submit(operation, watch=watch)
        last = told.submit(Exists("/later"), watch=True)
        place.until(lambda: bool(last))
    under_way = told.submit(Exists("/"))
    place.until(lambda: told.events[-1] is SessionEvent.SUSPENDED)
    assert under_way == [Failure.CONNECTION_LOSS]
    lost = [("watch", WatchEvent(WatchKind.LOST, path)) for path in ("/owner", "/later")]
    assert told.log[-4:] == [("result", Failure.CONNECTION_LOSS), *lost, ("session", SessionEvent.SUSPENDED)]
    while_suspended = told.submit(Exists("/"))
    place.until(lambda: bool(while_suspended))
    assert while_suspended == [Failure.CONNECTION_LOSS]
    with real_server(tmp_path, port):
        place.until(lambda: told.is_connected)
        created = next(what for _, what in told.log if isinstance(what, Created))
        results = told.submit(Exists("/owner"))
        place.until(lambda: bool(results))
        assert isinstance(results[0], Stat)
        assert results[0].ephemeral_owner == told.session.key.id == created.stat.ephemeral_owner
        closed: list[bool] = []
        told.session.close(lambda: closed.append(True))
        place.until(lambda: bool(closed))
    place.close()


class _Between:
    """Stands between clients and the server at ``port``, and can keep back one answer."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.keep_back = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server_port))
            threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
            threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while data := client.recv(65536):
                server.sendall(data)
        except OSError:
            pass
        finally:
            server.close()

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        frames = server.makefile("rb")
        greeted = False
        try:
            while length := frames.read(4):
                frame = frames.read(struct.unpack(">i", length)[0])
                answers = greeted and struct.unpack(">i", frame[:4])[0] > 0  # neither a ping's nor a watch's
                greeted = True
                if answers and self.keep_back:
                    self.keep_back = False
                else:
                    client.sendall(length + frame)
        except OSError:
            pass
        finally:
            client.close()


@pytest.mark.skipif(not all(Path(jar).exists() for jar in JARS.split(":")), reason="no ZooKeeper here")
def test_a_session_outlives_an_answer_that_never_comes(tmp_path: Path) -> None:
    """Servers drop requests of a session that is being taken over, and may answer a later one."""
    with real_server(tmp_path) as port:
        between = _Between(port)
        place = RealPlace(between.port)
        told = place.open()
        created = told.submit(Create("/owner", ephemeral=True))
        place.until(lambda: bool(created))
        key = told.session.key
        between.keep_back = True
        dropped, answered = told.submit(Exists("/owner")), told.submit(Exists("/"))
        place.until(lambda: bool(dropped and answered))
        assert dropped == answered == [Failure.CONNECTION_LOSS]
        place.until(lambda: told.events[-2:] == [SessionEvent.SUSPENDED, SessionEvent.CONNECTED])
        found = told.submit(Exists("/owner"))
        place.until(lambda: bool(found))
        assert isinstance(found[0], Stat)
        assert found[0].ephemeral_owner == key.id == told.session.key.id
        closed: list[bool] = []
        told.session.close(lambda: closed.append(True))
        place.until(lambda: bool(closed))
        place.close()
        between.close()
