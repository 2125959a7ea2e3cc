"""``node_driver.py STATE MOUNTS``: the volumes of one node, as its agent has them. For each command line one answer."""

from __future__ import annotations

import sys
from pathlib import Path

from highwater_chaos.machine.disk.power_loss import PowerLoss, try_to_write
from highwater_chaos.machine.disk.wipe import Wipe
from highwater_chaos.machine.runs.run import MachineRun
from highwater_operator.agent.machine_run import open_run
from highwater_operator.agent.volumes import VolumeRecord, Volumes

MIB = 1 << 20


class Driver:
    def __init__(self, state: Path, mounts: Path) -> None:
        self.volumes = Volumes(state, mounts)
        self.failures = self.volumes.mount_all()
        self.run: MachineRun = open_run(state)[0]

    def make(self, name: str) -> object:
        return self.volumes.ensure(VolumeRecord(name, 32 * MIB, "ext4", 0, 0)).made

    def write(self, name: str) -> object:
        (self.volumes.data(name) / "file").write_text(name)
        return try_to_write(self.volumes.data(name))

    def read(self, name: str) -> object:
        return sorted(path.name for path in self.volumes.data(name).iterdir()), try_to_write(self.volumes.data(name))

    def lose(self, name: str) -> object:
        record = self.volumes.get(name)
        assert record is not None
        return self.run.make(PowerLoss(self.volumes.machine_volume(record, run=self.run.directory))).resource.files

    def wipe(self, name: str) -> object:
        record = self.volumes.get(name)
        assert record is not None
        self.run.make(Wipe(self.volumes.machine_volume(record, run=self.run.directory)))
        self.volumes.ensure_data(record)
        return True

    def remove(self, name: str) -> object:
        return self.volumes.remove(name)

    def end(self, name: str) -> object:
        del name
        return self.run.close().left


driver = Driver(Path(sys.argv[1]), Path(sys.argv[2]))
sys.stdout.write(f"{driver.failures}\n")
sys.stdout.flush()
for line in sys.stdin:
    command, _, argument = line.strip().partition(" ")
    try:
        answer = str(getattr(driver, command)(argument))
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()
