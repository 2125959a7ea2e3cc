"""A disk that a pod got while the experiment ran, and that the experiment did not order, is written down."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from highwater_chaos.backends.kubernetes.backend import KubernetesBackend
from highwater_chaos.backends.kubernetes.cluster import Place
from highwater_chaos.backends.kubernetes.machines import machine_rows
from highwater_chaos.backends.kubernetes.watched_cluster import WatchedCluster
from highwater_chaos.base.machine_record import MACHINES_FILE, new_disks
from highwater_chaos.kube.client import Kube

CLUSTER = ("highwater.dev/v1alpha1", "LogCluster", "demo", "default")


def test_only_disks_that_were_replaced_during_the_run_are_facts_of_it(kube_api: Any, tmp_path: Path) -> None:
    def volumes(**replaced: int) -> None:
        disks = [
            {"pod": pod.replace("_", "-"), "node": "node-1", "used": True, "replaced": count}
            for pod, count in replaced.items()
        ]
        kube_api.patch(*CLUSTER, {"status": {"volumes": disks}}, "status")

    kube_api.create(
        {
            "apiVersion": CLUSTER[0],
            "kind": CLUSTER[1],
            "metadata": {"name": "demo", "namespace": "default"},
            "spec": {"storage": {"crashable": True}},
        }
    )
    volumes(demo_broker_0=2, demo_controller_0=0)
    api = Kube(kube_api.configuration())
    watched = WatchedCluster(api, Place("default", "demo", "uid"))
    watched.begin()
    try:
        assert machine_rows([], 0, watched) == b""
        volumes(demo_broker_0=2, demo_controller_0=1, demo_broker_1=1)
        rows = machine_rows([], 0, watched)
        assert [json.loads(line) for line in rows.splitlines()] == [
            {"pod": "demo-broker-1", "newDisks": 1},
            {"pod": "demo-controller-0", "newDisks": 1},
        ]
        (tmp_path / MACHINES_FILE).write_bytes(rows)
        assert [one.split()[0] for one in new_disks(tmp_path)] == ["demo-broker-1", "demo-controller-0"]
        volumes(demo_broker_0=2, demo_controller_0=2, demo_broker_1=1)
        watched.look_now_and_then()
        assert watched._looking is not None
        watched._looking.result()
        kube_api.delete(*CLUSTER)
        rows = rows.replace(b'0", "newDisks": 1', b'0", "newDisks": 2')
        assert machine_rows([], 0, watched) == rows, "what was seen meanwhile stays"
        backend: Any = SimpleNamespace(
            _nodes={}, _threads=ThreadPoolExecutor(1), _since=0, _watched=watched, _kafka=None
        )
        assert KubernetesBackend.files(backend) == {MACHINES_FILE: rows}, "it is a file of the run"
        kube_api.fault(verb="get", resource="logclusters", status=403, times=None)
        (unknown,) = machine_rows([], 0, watched).splitlines()
        assert json.loads(unknown)["cluster"] == "its disks are not known"
    finally:
        watched.close()
