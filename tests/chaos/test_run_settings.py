"""What an experiment promises, as its checks are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_chaos.experiment import load_experiment
from highwater_chaos.run.settings import settings_of

TINY = (Path(__file__).parents[1] / "tiny-experiment.yaml").read_text()


@pytest.mark.parametrize(
    ("step", "deletion"),
    [
        ("wait: 1s", ()),
        ("parallel: [[{repeat: {times: 2, steps: [{admin: {deleteTopic: {name: orders}}}]}}]]", ("orders",)),
        ("random: {for: 10s, every: 1s, faults: {kill: 1, deleteTopic: 1}}", ("*",)),
        ("random: {for: 10s, every: 1s, faults: {kill: 1}}", ()),
    ],
)
def test_topics_that_the_schedule_may_delete(tmp_path: Path, step: str, deletion: tuple[str, ...]) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(f"{TINY}    - {step}\n")
    assert settings_of(load_experiment(file)).deletion == deletion


@pytest.mark.parametrize(
    ("step", "retention"),
    [
        ("admin: {deleteRecords: {partition: orders-0, before: 3}}", ("orders",)),
        ("random: {for: 10s, every: 1s, faults: {kill: 1, deleteRecords: 1}}", ("*",)),
        ("admin: {electLeaders: {}}", ()),
    ],
)
def test_topics_whose_records_the_schedule_may_delete(tmp_path: Path, step: str, retention: tuple[str, ...]) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(f"{TINY}    - {step}\n")
    assert settings_of(load_experiment(file)).retention == retention


@pytest.mark.parametrize(
    ("mode", "step", "lost_command_ms"),
    [
        ("zookeeper", "inject: {drop: {rpc: StopReplica, of: response}, for: 1s}", 30_000),
        ("zookeeper", "random: {for: 10s, every: 1s, faults: {partition: 1}}", 30_000),
        ("zookeeper", "random: {for: 10s, every: 1s, faults: {kill: 1}}", 0),
        ("kraft", "random: {for: 10s, every: 1s, faults: {partition: 1}}", 0),
        (
            "zookeeper",
            "parallel: [[{inject: {partition: {isolate: {broker: 0}}, for: 1s}}], [{inject: {restart: {target: {broker:"
            " 0}, config: {controller.socket.timeout.ms: 40000}}}}]]",
            40_000,
        ),
    ],
)
def test_how_long_a_command_may_wait_behind_another(tmp_path: Path, mode: str, step: str, lost_command_ms: int) -> None:
    file = tmp_path / "tiny.yaml"
    text = TINY if mode == "kraft" else TINY.replace("controllers: 1", "mode: zookeeper")
    file.write_text(
        f"{text}    - {step}\n".replace("broker.session.timeout.ms: 1000, broker.heartbeat.interval.ms: 200, ", "")
    )
    assert settings_of(load_experiment(file)).lost_command_ms == lost_command_ms


@pytest.mark.parametrize(
    ("set_to", "settings"),
    [
        ("log.cleanup.policy: delete", {}),
        ("log.retention.ms: 1000", {"retention": ("*",)}),
        ("log.retention.bytes: -1", {}),
        ("unclean.leader.election.enable: true", {"unclean": ("*",)}),
        ("unclean.leader.election.enable: false", {}),
    ],
)
def test_what_brokers_are_set_to_is_promised_of_every_topic(
    tmp_path: Path, set_to: str, settings: dict[str, tuple[str, ...]]
) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY.replace("broker.session.timeout.ms", f"{set_to}, broker.session.timeout.ms"))
    found = settings_of(load_experiment(file))
    assert {name: getattr(found, name) for name in ("compaction", "retention", "unclean")} == {
        **dict.fromkeys(("compaction", "retention", "unclean"), ()),
        **settings,
    }


@pytest.mark.parametrize(
    ("set_to", "settings"),
    [
        ("log.retention.bytes: 4000", {"retention": ("*",)}),
        ("unclean.leader.election.enable: true", {"unclean": ("*",)}),
        ("log.flush.interval.ms: 2", {}),
    ],
)
def test_so_is_what_a_restart_sets_them_to(tmp_path: Path, set_to: str, settings: dict[str, tuple[str, ...]]) -> None:
    """A rolling change of properties: what it lets be deleted later is no loss."""
    file = tmp_path / "tiny.yaml"
    step = f"parallel: [[{{inject: {{restart: {{target: {{broker: 0}}, config: {{{set_to}}}}}}}}}]]"
    file.write_text(f"{TINY}    - {step}\n")
    found = settings_of(load_experiment(file))
    given = {name: getattr(found, name) for name in ("compaction", "retention", "unclean")}
    assert {name: value for name, value in given.items() if value} == settings


@pytest.mark.parametrize(
    ("set_to", "step", "expiration_ms"),
    [
        ("log.flush.interval.ms: 2", "wait: 1s", 86_400_000),
        ("producer.id.expiration.ms: 9000", "wait: 1s", 9000),
        ("producer.id.expiration.ms: 9000", "inject: {clockSkew: {target: {broker: 0}, offset: 2s}, for: 1s}", 5000),
        ("producer.id.expiration.ms: 9000", "random: {for: 9s, every: 1s, faults: {clockSkew: 1}}", 0),
        (
            "log.flush.interval.ms: 2",
            "inject: {restart: {target: {broker: 0}, config: {producer.id.expiration.ms: 4000}}}",
            4000,
        ),
    ],
)
def test_how_long_a_producer_is_remembered(tmp_path: Path, set_to: str, step: str, expiration_ms: int) -> None:
    file = tmp_path / "tiny.yaml"
    text = TINY.replace("broker.session.timeout.ms", f"{set_to}, broker.session.timeout.ms")
    file.write_text(f"{text}    - {step}\n")
    assert settings_of(load_experiment(file)).producer_expiration_ms == expiration_ms


@pytest.mark.parametrize(
    ("step", "is_known"),
    [
        ("inject: {clockSkew: {target: {broker: 0}, offset: 2s}, for: 1s}", False),
        ("random: {for: 9s, every: 1s, faults: {clockSkew: 1}}", False),
        ("inject: {pause: {target: {broker: 0}}, for: 1s}", True),
    ],
)
def test_a_clock_that_is_off_may_make_committed_offsets_expire(tmp_path: Path, step: str, is_known: bool) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(f"{TINY}    - {step}\n")
    assert settings_of(load_experiment(file)).commit_retention_ms == (604_800_000 if is_known else 0)


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        ("inject: {kill: {target: {broker: 0}}, for: 1s}", True),
        ("inject: {diskWipe: {target: {broker: 0}}, for: 1s}", False),
        ("inject: {diskError: {target: {broker: 0}}, for: 1s}", False),
        ("random: {for: 9s, every: 1s, faults: {kill: 1, powerLoss: 1}}", False),
        ("random: {for: 9s, every: 1s, faults: {kill: 1, pause: 1}}", True),
    ],
)
def test_whether_a_disk_may_lose_a_log(tmp_path: Path, step: str, kept: bool) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(f"{TINY}    - {step}\n")
    assert settings_of(load_experiment(file)).disks_kept is kept
