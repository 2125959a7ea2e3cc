"""What a backend can do follows from what it implements."""

from __future__ import annotations

import pytest

from highwater_chaos.backends.attach.backend import AttachBackend
from highwater_chaos.backends.kubernetes.backend import KubernetesBackend
from highwater_chaos.backends.kubernetes.crashable import CrashableBackend
from highwater_chaos.backends.local.backend import LocalBackend
from highwater_chaos.backends.local.isolated import IsolatedBackend
from highwater_chaos.backends.primitives import (
    PRIMITIVES,
    BlocksWrites,
    ConfiguresNodes,
    CutsLinks,
    DrainsMachines,
    ExpiresSessions,
    FailsDisks,
    FillsDisks,
    LosesPower,
    LosesPowerAtWrites,
    RebootsMachines,
    ReplacesPods,
    RunsCommands,
    StallsDisks,
    WipesDisks,
    implemented_by,
)
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.experiment.faults import fault_kinds
from highwater_chaos.faults import kind_named
from highwater_chaos.schedule.capability import available_faults
from highwater_chaos.workload.client_host import HostsClientProcesses

OF_PODS = {DrainsMachines, RebootsMachines, ReplacesPods}


@pytest.mark.parametrize(
    ("backend", "missing"),
    [
        (SimBackend, {HostsClientProcesses, RunsCommands} | OF_PODS),
        (LocalBackend, {LosesPower, LosesPowerAtWrites, CutsLinks, FillsDisks, FailsDisks, BlocksWrites} | OF_PODS),
        (IsolatedBackend, {LosesPowerAtWrites} | OF_PODS),
        (
            KubernetesBackend,
            {
                LosesPower,
                LosesPowerAtWrites,
                WipesDisks,
                FillsDisks,
                FailsDisks,
                BlocksWrites,
                ConfiguresNodes,
                RunsCommands,
            },
        ),
        (CrashableBackend, {LosesPowerAtWrites, ConfiguresNodes, RunsCommands}),
        (AttachBackend, frozenset(PRIMITIVES) - {HostsClientProcesses, RunsCommands}),
    ],
)
def test_each_backend_lacks_what_it_has_no_methods_for(backend: type, missing: set[type]) -> None:
    assert frozenset(PRIMITIVES) - implemented_by(backend) == missing


def test_a_primitive_with_a_method_missing_is_none() -> None:
    class CannotUndoCuts(SimBackend):
        uncut = None  # type: ignore[assignment]

    class CannotProbeDisks(SimBackend):
        disk_probe = None  # type: ignore[assignment]

    assert implemented_by(SimBackend) - implemented_by(CannotUndoCuts) == {CutsLinks}
    unprobed = {FillsDisks, FailsDisks, StallsDisks, BlocksWrites}
    assert implemented_by(SimBackend) - implemented_by(CannotProbeDisks) == unprobed


def test_without_a_primitive_those_faults_are_missing_that_need_it() -> None:
    every = frozenset(PRIMITIVES)
    assert available_faults(every) == list(fault_kinds())
    # No fault needs these in its simplest form: expiry needs a client in ZooKeeper mode alone, a restart may configure,
    # power may fail at once, and a stall may spare writes.
    on_demand = {HostsClientProcesses, ExpiresSessions, ConfiguresNodes, LosesPowerAtWrites, BlocksWrites}
    for primitive in every - on_demand:
        lost = set(fault_kinds()) - set(available_faults(every - {primitive}))
        assert lost == {kind for kind in fault_kinds() if primitive in kind_named(kind).example().needs} != set()
