from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import highwater_runtime as runtime
from highwater_runtime.config import ConfigError, NodeConfig
from highwater_runtime.switches import SWITCHES, SwitchError, Switches


def test_every_default_is_accepted_and_is_the_fixed_behaviour() -> None:
    assert Switches.of({name: switch.default for name, switch in SWITCHES.items()}) == Switches()


def test_a_switch_acts_by_name() -> None:
    assert Switches.of({"replica-epoch-check": "off"}).replica_epoch_check == "off"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replica-epoch": "off"}, "unknown switch 'replica-epoch'"),
        ({"replica-epoch-check": "no"}, "expected on or off"),
    ],
)
def test_bad_switches(values: dict[str, str], message: str) -> None:
    with pytest.raises(SwitchError, match=message):
        Switches.of(values)


def test_config_by_property_names() -> None:
    config = NodeConfig.of({"min.insync.replicas": "2", "auto.leader.rebalance.enable": "false"})
    assert config.min_insync_replicas == 2
    assert config.auto_leader_rebalance is False
    for name, value, message in [
        ("min.insync.replicas", True, "whole number"),
        ("min.insync.replicas", "two", "whole number"),
        ("auto.leader.rebalance.enable", "maybe", "true or false"),
        ("default.replication.factor", 40000, "between 1 and 32767"),
    ]:
        with pytest.raises(ConfigError, match=message):
            NodeConfig.of({name: value})


def test_every_property_is_acted_upon() -> None:
    """One that is accepted and read by nothing would promise what it does not do."""
    source = Path(runtime.__path__[0])
    text = "\n".join(path.read_text() for path in source.rglob("*.py"))
    only_value = {"compression_type"}  # its one value is what happens anyway
    unread = [one.name for one in fields(NodeConfig) if not re.search(rf"\.{one.name}\b", text)]
    assert set(unread) == only_value
