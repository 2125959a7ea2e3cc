"""A node process imports what its role needs: each start pays for it, and a cluster of tests starts hundreds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_CONFIG = """
process.roles={role}
node.id=0
cluster.id=highwater-cluster-0001
{cluster}
listeners=PLAINTEXT://127.0.0.1:0
log.dirs={directory}
"""
_KRAFT = "controller.quorum.voters=1000@127.0.0.1:9093"
_ZOOKEEPER = "zookeeper.connect=127.0.0.1:2181"
_PROGRAM = """
import sys
from pathlib import Path
from highwater_runtime.host.config.file import read_settings
from highwater_runtime.host.main import node_security
from highwater_runtime.host.roles import role_of
settings = read_settings(Path(sys.argv[1]))
node_security(settings)
role_of(settings)
print(*sys.modules)
"""
_ROLES = {
    "highwater_runtime.broker",
    "highwater_runtime.broker.zk",
    "highwater_runtime.controller.kraft",
    "highwater_runtime.controller.zk",
}
_OPTIONAL = {"prometheus_client", "scramp", "uvloop", "kazoo", "http.server"}


@pytest.mark.parametrize(
    ("role", "cluster", "needed"),
    [
        ("controller", "controller.quorum.voters=0@127.0.0.1:9093", {"highwater_runtime.controller.kraft"}),
        ("broker", _KRAFT, {"highwater_runtime.broker"}),
        ("broker", _ZOOKEEPER, _ROLES - {"highwater_runtime.controller.kraft"}),
    ],
)
def test_a_process_imports_its_own_role_alone(role: str, cluster: str, needed: set[str], tmp_path: Path):
    if role == "controller":
        cluster += "\ncontroller.listener.names=PLAINTEXT"
    config = tmp_path / "node.properties"
    config.write_text(_CONFIG.format(role=role, cluster=cluster, directory=tmp_path))
    done = subprocess.run([sys.executable, "-c", _PROGRAM, config], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    modules = set(done.stdout.split())
    assert modules & _ROLES == needed
    assert not modules & _OPTIONAL
