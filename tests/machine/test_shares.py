"""A volume's directory that is mounted in other places too, as the kubelet has a claim's mounted for pods."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.machine.disk.power_loss import PowerLoss
from highwater_chaos.machine.disk.shares import Place, Share
from highwater_chaos.machine.disk.wipe import Wipe
from highwater_chaos.machine.kernel import linux


def write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@pytest.mark.whole_machine
@pytest.mark.quick("ext4")
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_shared_directory_is_a_file_while_its_volume_is_down(machine: Any, kind: Any, tmp_path: Path) -> None:
    """A container that is started then must not get an empty directory of the disk below."""
    target, gone = tmp_path / "pod" / "mount", tmp_path / "deleted" / "mount"
    target.parent.mkdir()
    places = (Place(str(target), "uid-of-a-pod"), Place(str(gone), "uid-of-a-pod-that-has-gone"))
    share = Share("data", 70, 71, 0o2770, places)
    volume = replace(machine.volume(kind), share=share)
    volume.mount()
    write_synced(target / "synced", b"s")
    found = target.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (70, 71, 0o2770)
    with (target / "open").open("w"):  # nobody's: it goes on in an image that nobody mounts any more
        volume.unmount()
        assert target.is_file()
        assert not volume.mounted()
        replace(volume, share=None).mount()
        assert target.is_file()
        PowerLoss(volume).undo()  # as a guardian does whose agent was killed in the middle
    assert volume.mounted()
    assert (target / "synced").read_bytes() == b"s"
    assert not gone.parent.exists()
    machine.run.make(Wipe(volume))
    assert list(target.iterdir()) == []
    assert (target.stat().st_uid, target.stat().st_mode & 0o7777) == (70, 0o2770)
    for place in places:
        place.remove()
    assert not target.exists()


class Killed(BaseException):
    """Of a process, between two of its system calls."""


@pytest.mark.whole_machine
def test_a_place_is_read_only_whenever_its_maker_was_killed(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = machine.volume("ext4")
    point = Path(volume.mount_point)
    place = Place(str(tmp_path / "mount"), "uid-of-a-pod", read_only=True)
    left = [0]

    def dying(call: Any) -> Any:
        def made(*arguments: Any) -> Any:
            result = call(*arguments)
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return result

        return made

    for name in ("mount", "copy_mount", "move_mount"):
        monkeypatch.setattr(linux, name, dying(getattr(linux, name)))
    deaths = 0
    for calls in range(1, 9):
        left[0] = calls
        try:
            place.mount(point, point)
        except Killed:
            deaths += 1
        left[0] = 0
        place.mount(point, point)
        with pytest.raises(OSError, match="Read-only"):
            (tmp_path / "mount" / "file").write_text("no")
        mine = os.statvfs(tmp_path / "mount").f_flag
        assert mine & os.ST_NODEV
        assert mine & os.ST_NOSUID
        assert mine & os.ST_NOATIME
        place.remove()
    assert deaths == 2
