"""What a real server's death does to a session through kazoo."""

from __future__ import annotations

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
