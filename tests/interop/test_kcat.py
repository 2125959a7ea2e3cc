"""kcat, as Debian ships it: an older librdkafka (2.0) than the Python package brings."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="needs kcat (Debian package kcat)")

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture
def kcat(cluster):
    def run(*arguments, stdin=""):
        done = subprocess.run(
            ["kcat", "-b", cluster.bootstrap, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def read_all(kcat, topic, *options):
    lines = kcat("-C", "-t", topic, "-o", "beginning", "-e", "-q", "-J", *options).splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_were_sent(codec, topic, kcat):
    lines = [f"key-{number}:value {number} " + "x" * 50 for number in range(200)]
    kcat(
        "-P", "-t", topic, "-K", ":", "-z", codec, "-H", "origin=kcat", "-X", "enable.idempotence=true",
        stdin="\n".join(lines),
    )  # fmt: skip
    read = read_all(kcat, topic)
    assert [f"{row['key']}:{row['payload']}" for row in read] == lines
    assert [row["offset"] for row in read] == list(range(200))
    assert all(row["headers"] == ["origin", "kcat"] and row["tstype"] == "create" and row["ts"] > 0 for row in read)


def test_metadata_lists_brokers_topics_and_replicas(cluster, topic, kcat):
    about = json.loads(kcat("-L", "-J", "-t", topic))
    assert sorted(broker["name"] for broker in about["brokers"]) == sorted(cluster.bootstrap.split(","))
    (partition,) = about["topics"][0]["partitions"]
    assert sorted(row["id"] for row in partition["replicas"]) == [0, 1, 2]
    assert sorted(row["id"] for row in partition["isrs"]) == [0, 1, 2]


def test_offsets_by_time_are_looked_up(topic, kcat):
    kcat("-P", "-t", topic, stdin="a\nb\nc")
    assert f"{topic} [0] offset 0" in kcat("-Q", "-t", f"{topic}:0:1000")
    assert f"{topic} [0] offset 3" in kcat("-Q", "-t", f"{topic}:0:-1")


def test_a_group_goes_on_where_it_was(topic, kcat):
    options = ("-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=10000", "-e", "-q")
    kcat("-P", "-t", topic, stdin="a\nb\nc")
    assert kcat("-G", f"group-{topic}", *options, topic).split() == ["a", "b", "c"]
    kcat("-P", "-t", topic, stdin="d\ne")
    assert kcat("-G", f"group-{topic}", *options, topic).split() == ["d", "e"]


def test_a_member_that_dies_is_missed(cluster, topic_of, wait_until, tmp_path):
    topic = topic_of(partitions=2)
    group = f"group-{topic}"

    def join(name):
        said = (tmp_path / name).open("wb")
        options = ("-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=500")
        return subprocess.Popen(
            ["kcat", "-b", cluster.bootstrap, *options, "-G", group, topic], stdout=said, stderr=subprocess.STDOUT
        )

    def assigned(name):
        lines = [line for line in (tmp_path / name).read_text().splitlines() if "assigned: " in line]
        return lines[-1].partition("assigned: ")[2].count(topic) if lines else 0

    stays, dies = join("stays"), join("dies")
    try:
        wait_until(lambda: assigned("stays") == assigned("dies") == 1, "a partition for each of two")
        dies.kill()
        wait_until(lambda: assigned("stays") == 2, "both partitions for the survivor")
    finally:
        for member in (stays, dies):
            member.kill()
            member.wait()


@pytest.mark.thorough
def test_nothing_is_lost_when_a_leader_dies(cluster, topic, kcat):
    lines = [str(number) for number in range(300)]
    send = ("-P", "-t", topic, "-X", "enable.idempotence=true")
    kcat(*send, stdin="\n".join(lines[:100]))
    with cluster.leader_killed(topic):
        kcat(*send, stdin="\n".join(lines[100:]))
        assert [row["payload"] for row in read_all(kcat, topic)] == lines
