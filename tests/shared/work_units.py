"""Which tests go to one worker together, and in what order several workers take them.

A file's tests go to one worker, and those that share what is slow to make (a session of Spark, a cluster of processes)
too, so that it is made once. Long tests that share nothing go to whichever worker is free. Tests of real processes
mostly wait: most workers take those, and some of them what computes, so that the processor has always something to do.
What takes longest comes first, so that no worker is left with it at the end.
"""

from __future__ import annotations

WAITING = (
    "apache_kafka",
    "drivers",
    "host",
    "interop",
    "kubernetes",
    "local",
    "machine",
    "security",
)
"""Folders and files whose tests mostly wait: for processes, servers, deadlines."""
SPARK = (
    "assertions/test_runs.py",
    "campaign/test_on_spark.py",
    "campaign/test_standalone.py",
    "cli/test_campaign.py::test_spark_gives_the_same_bytes",
    "cli/test_check.py",
    "cli/test_check_jepsen.py",
    "cli/test_data.py",
    "cli/test_parquet_run.py",
    "cli/test_remote.py",
    "cli/test_store.py",
    "kubernetes/experiments/test_judging_on_spark.py",
    "linearizability/test_spark.py",
    "pipeline/test_spark.py",
)
"""Files, and tests of files, that share a session of Spark, or start Java for Spark several times."""
SHARING = ("interop/", "security/")
"""Folders whose tests share a cluster of processes, which ends with the last of them."""
APART = (
    "apache_kafka/test_real.py",
    "chaos/",
    "cli/test_campaign.py",
    "drivers/test_runs.py",
    "host/test_scale_benchmark.py",
    "kubernetes/experiments/",
    "kubernetes/log_cluster/",
    "lab/test_directed.py",
    "local/",
    "machine/",
)
"""Folders and files of long tests that share nothing, but for these files of theirs."""
TOGETHER = (
    "chaos/test_clock_shifts.py",
    "chaos/test_missing_evidence.py",
    "chaos/test_third_party_fault.py",
    "kubernetes/experiments/test_command_line.py",
    "kubernetes/experiments/test_judging.py",
    "kubernetes/experiments/test_whole_runs.py",
    "local/test_broken_faults.py",
)
LONGEST = (
    "interop/",
    "kubernetes/experiments/test_whole_runs.py",
    "local/test_broken_faults.py",
    "local/test_working_directory.py",
    "kubernetes/experiments/test_agents_replaced.py",
    "kubernetes/agent/",
    "campaign/test_bad_seeds.py",
    "kubernetes/experiments/test_judging.py",
    "security/",
    "kubernetes/log_cluster/test_stale_names.py",
    "kubernetes/installation/test_spark_manifests.py",
    "cli/test_campaign.py",
    "cli/test_manifest.py",
    "local/test_scenario.py",
    "local/test_zookeeper.py",
    "local/test_killed_harness.py",
    "kubernetes/log_cluster/test_real_nodes.py",
    "kubernetes/log_cluster/test_bad_days.py",
    "local/test_node_crash.py",
    "kubernetes/experiments/test_real_run.py",
    "apache_kafka/test_real.py",
    "local/test_faults.py",
    "host/test_scale_benchmark.py",
    "drivers/test_runs.py",
    "groups/test_real_clients.py",
    "coordination/",
    "wire/test_fuzz.py",
    "chaos/test_shrink.py",
    "chaos/test_clock_shifts.py",
    "chaos/test_missing_evidence.py",
    "invariants/",
    "lab/test_mutants.py",
    "chaos/test_engine.py",
)
"""What takes half a minute or more, the longest first."""


def waits(unit: str) -> bool:
    """Whether the tests of a unit mostly wait."""
    return unit == "spark" or unit.removeprefix("tests/").startswith(WAITING)


def unit_of(nodeid: str) -> str:
    """What goes to one worker."""
    test = nodeid.removeprefix("tests/")
    if test.startswith(SPARK):
        return "spark"
    file = test.partition("::")[0]
    for folder in SHARING:
        if file.startswith(folder):
            return folder
    return nodeid if file.startswith(APART) and file not in TOGETHER else file


def rank(unit: str) -> tuple[int, bool]:
    """Spark first, for it takes long; then what takes longest, then files, and single tests last, so that all workers
    end at about the same time."""
    file = unit.removeprefix("tests/")
    rank = next((rank for rank, start in enumerate(LONGEST) if file.startswith(start)), len(LONGEST))
    return -1 if unit == "spark" else rank, "::" in unit
