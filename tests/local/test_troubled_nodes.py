"""A node may end by itself if its disk failed on purpose: since it started, or already when it did."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from highwater_chaos.backends.local.nodes import LocalNode
from highwater_chaos.backends.local.program import Launch
from highwater_chaos.machine.faults.cuts import Cut
from highwater_chaos.machine.faults.disk_full import DiskFull


@pytest.mark.parametrize(("fault", "troubled"), [(DiskFull, True), (Cut, False)])
def test_a_disk_that_is_full_when_a_node_starts_explains_its_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: Any, troubled: bool
) -> None:
    run: Any = SimpleNamespace(directory=tmp_path, make=lambda made, **_: made, undo=lambda _: None)
    program: Any = SimpleNamespace(launch=lambda *_: Launch(("true",), {}, {}))
    place: Any = SimpleNamespace(name="broker-0")
    disk: Any = SimpleNamespace()
    node = LocalNode(run, program, place, disk, namespace=None, log=tmp_path / "log")
    monkeypatch.setattr(fault, "on", classmethod(lambda *_: SimpleNamespace()))
    node.begin(fault, {}, None)
    plan: Any = SimpleNamespace()
    node.start(plan)
    assert node.disk_troubled is troubled
    node._forget()
    node.take_back(fault)
    node.start(plan)
    assert node.disk_troubled is False
