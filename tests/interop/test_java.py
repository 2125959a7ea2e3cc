"""Kafka's own Java client; the stories themselves are in ``java/Interop.java``."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture(scope="module")
def java(cluster, interop_java):
    """``java(story, …)`` starts it."""

    def start(*arguments, stdin=subprocess.DEVNULL):
        command = [*interop_java, cluster.bootstrap, *arguments]
        return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.fixture
def tell(java):
    """Runs a story to its end."""

    def run(*arguments):
        process = java(*arguments)
        try:
            out, err = process.communicate(timeout=150)
        finally:
            process.kill()
        assert (process.returncode, out.splitlines()[-1:]) == (0, ["done"]), err

    return run


@pytest.mark.thorough
def test_records_come_back_as_they_were_sent_with_every_codec(tell, topic):
    tell("roundtrip", topic, "none", "gzip", "snappy", "lz4", "zstd")


@pytest.mark.thorough
def test_a_group_shares_partitions_and_its_offsets_outlive_its_members(tell, topic_of):
    tell("group", topic_of(partitions=4))


def test_topics_are_created_enlarged_configured_and_deleted_and_the_cluster_describes_itself(tell):
    tell("admin", "java-admin")


@pytest.mark.thorough
def test_nothing_is_lost_and_nothing_doubled_when_a_leader_dies(java, cluster, topic):
    process = java("failover", topic, stdin=subprocess.PIPE)
    try:
        assert process.stdout.readline() == "sending\n", process.stderr.read()
        with cluster.without_leader(topic):
            out, err = process.communicate("stop\n", timeout=150)
        assert (process.returncode, out) == (0, "done\n"), err
    finally:
        process.kill()
        process.wait()
