"""A short run with every kind of fault, for test_trace: prints what equal seeds must have in common."""

import sys

from conftest import make_cluster
from highwater_runtime.ports import MS, SECOND
from highwater_runtime.ports.trace import HighWatermarkAdvanced


def run(seed):
    simulator, cores = make_cluster("a", "b", "c", seed=seed, trace_messages=True, codec="some")
    fsynced = []
    for step in range(60):
        for name in "abc":
            if simulator.node(name).core is None:
                simulator.start(name)
                simulator.run_for(0)
            core = cores[name]
            peer = "abc"[core.ports.random.randrange(3)]
            core.send(peer, step, timeout_ns=core.ports.random.randrange(1, 50) * MS, channel=str(step % 2))
            file = core.ports.disk.open(f"f{step % 4}", create=True)
            file.append(bytes([step]) * core.ports.random.randrange(9000))
            file.fsync_later(fsynced.append)
            core.ports.trace.emit(HighWatermarkAdvanced(partition="t-0", leader_epoch=step, offset=file.size()))
        if step % 7 == 3:
            simulator.power_loss("abc"[step % 3])
        if step % 11 == 5:
            simulator.faults.cut({"a", "b"}, {"c"})
            simulator.faults.hold("Echo", from_nodes={"a", "b"}, to_nodes={"b", "c"})
        if step % 11 == 9:
            simulator.faults.heal_all()
        simulator.run_for(core.ports.random.randrange(30 * MS))
    simulator.run_for(5 * SECOND)
    disks = [simulator.node(name).disk for name in "abc"]
    sizes = [[(path, disk.open(path).size()) for path in disk.list()] for disk in disks]
    return simulator, sizes, len(fsynced)


simulator, sizes, fsynced = run(int(sys.argv[1]))
sys.stdout.write(f"{simulator.digest()} {sizes} {fsynced} {len(simulator.trace.message_lines)}\n")
