"""docs/checks.md and docs/protocol.md name exactly the checks, invariants, switches and versions that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, get_args

from highwater_chaos.experiment.model import Cluster
from highwater_pipeline.anomalies import (
    AVAILABILITY,
    BY_WEIGHT,
    CLIENT_CHECKS,
    CLIENT_CHECKS_ON_REQUEST,
    GROUP_CHECKS,
    INSIDE_CHECKS,
    LOOKUP_CHECKS,
    NEEDS,
    REGISTER_CHECKS,
    STATE_INVARIANTS,
)
from highwater_pipeline.tables.settings import Acks, Settings
from highwater_pipeline.verdict import MAX_EXAMPLES, CheckState
from highwater_runtime.metadata.metadata_version import MetadataVersion
from highwater_runtime.sim import invariants
from highwater_runtime.switches import SWITCHES


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_checks(checks: Any) -> None:
    for heading, known in (
        ("What clients can see", CLIENT_CHECKS),
        ("What only the inside can show", INSIDE_CHECKS),
        ("Groups", GROUP_CHECKS),
        ("Look-ups by time stamp", LOOKUP_CHECKS),
        ("Registers", REGISTER_CHECKS),
    ):
        assert [quoted(row) for row in checks.table(heading)] == [[name] for name in known]


def test_what_each_check_needs(checks: Any) -> None:
    rows = checks.table("What only the inside can show")
    needed = {quoted(row)[0]: tuple(quoted(cells[1].split(";")[0])) for row, cells in rows.items()}
    assert needed == {name: NEEDS[name] for name in INSIDE_CHECKS}
    assert {NEEDS[name] for name in CLIENT_CHECKS} == {("history",)}, "as the text above the table says"


def names_of_invariants() -> set[str]:
    found = set()
    for file in Path(invariants.__file__).parent.glob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            added = isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("violations.add", "Unrest"))
            if added and isinstance(call.args[0], ast.Constant):  # else the name is that of a node that halted
                found.add(call.args[0].value)
    return found


def test_each_invariant_of_the_simulator_has_a_meaning_and_a_row(checks: Any) -> None:
    found = names_of_invariants()
    assert found <= set(BY_WEIGHT)
    assert found >= set(STATE_INVARIANTS)
    rows = [quoted(row)[0] for row in checks.table("Invariants of the simulator")]
    assert set(rows) >= set(STATE_INVARIANTS)


def test_checks_on_request(checks: Any) -> None:
    prose = checks.section("Order")
    assert all(f"`{name}` ({meaning})" in prose for name, meaning in CLIENT_CHECKS_ON_REQUEST.items())


def test_every_setting_has_its_promise(checks: Any) -> None:
    """A setting by which a check judges is a row of the table."""
    rows = " ".join(checks.table("What each combination of settings promises"))
    assert all(f"`acks: {acks}`" in rows for acks in get_args(Acks))
    words = {
        "acks": "acks: all",
        "idempotence": "idempotence: false",
        "retention": "retention.ms",
        "compaction": "compact",
        "keys": "workload.keys",
        "tombstones": "workload.tombstones",
        "tombstone_retention_ms": "delete.retention.ms",
        "headers": "says what was sent",
        "deletion": "a topic is deleted",
        "final_reads_cut_short": "before the final reads were complete",
        "unclean": "unclean.leader.election.enable",
        "never_unclean": "of this topic",
        "exact_order": "other than `sim`",
        "lost_command_ms": "controller.socket.timeout.ms",
        "producer_expiration_ms": "producer.id.expiration.ms",
        "drawn_clocks_off_ms": "`clockSkew` among the faults of `random`",
        "commit_retention_ms": "offsets.retention.minutes",
        "unrecorded_sends": "--unrecorded-sends",
        "clock_errors_ns": "clock_errors_ns",
        "disks_kept": "whose faults take no disk",
        "promised": "`promised` in `run.json`",
        "resends_in_new_epochs": "workload.driver: confluent-kafka",
    }
    assert set(words) == set(Settings.__struct_fields__)
    assert all(word in rows for word in words.values())


def test_states_and_tables(checks: Any) -> None:
    states, tables = checks.tables("From checks to a verdict")
    assert {name for row in states[1:] for name in quoted(row[0])} == set(get_args(CheckState))
    assert [quoted(row[0])[0] for row in tables[1:]] == ["operations", "node_event", "replica_log"]
    assert MAX_EXAMPLES == 10
    assert "at most ten examples" in checks.text


def test_invariants(checks: Any, root: Path) -> None:
    sources = (root / "runtime" / "highwater_runtime" / "sim" / "invariants").glob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    known = set(re.findall(r"(?:_violations\.add|Unrest)\(\s*\"([a-z-]+)\"", text))
    alone = {quoted(row)[0] for row in checks.table("Invariants of the simulator")}
    prose = checks.section("Invariants of the simulator").partition("Names are the same")[2].partition(".")[0]
    assert alone | set(quoted(prose)) == known
    assert set(quoted(prose)) == known & set(INSIDE_CHECKS)


def test_availability(checks: Any) -> None:
    assert quoted(checks.section("Availability"))[0] == next(iter(AVAILABILITY))
    assert len(AVAILABILITY) == 1


def test_switches(protocol: Any) -> None:
    rows = protocol.table("Switches")
    assert rows == {
        f"`{switch.name}`": [
            ", ".join(f"`{value}`" for value in switch.values),
            switch.source,
            switch.rule,
        ]
        for switch in SWITCHES.values()
    }
    assert "switches" in Cluster.model_fields


def test_metadata_versions(protocol: Any) -> None:
    rows = protocol.table("Metadata versions")
    assert {int(level): quoted(cells[0]) for level, cells in rows.items()} == {
        int(version): [version.version] for version in MetadataVersion
    }
    assert "the default" in rows[str(int(MetadataVersion.latest()))][1]
    assert "the lowest" in rows[str(int(MetadataVersion.minimum()))][1]
    for version in MetadataVersion:
        brings = rows[str(int(version))][1]
        assert (f"Fetch v{version.fetch_version}" in brings) == (
            version is MetadataVersion.minimum() or version.fetch_version != MetadataVersion(version - 1).fetch_version
        )
