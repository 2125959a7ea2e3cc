"""The alerts that ship, tested by Prometheus' own tool."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

RULES = Path(__file__).parents[2] / "helm" / "highwater" / "files" / "prometheus-rules.yaml"
CASES = Path(__file__).with_name("alerts.yaml")

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool (Debian's package prometheus)")


def promtool(folder: Path, rules: str) -> subprocess.CompletedProcess[str]:
    (folder / "rules.yaml").write_text(rules)
    shutil.copy(CASES, folder)
    return subprocess.run(
        ["promtool", "test", "rules", "alerts.yaml"], cwd=folder, check=False, capture_output=True, text=True
    )


def test_alerts_fire_when_they_should_and_not_before(tmp_path):
    found = promtool(tmp_path, RULES.read_text())
    assert found.returncode == 0, found.stdout + found.stderr
    assert "SUCCESS" in found.stdout


@pytest.mark.quick("condition")
@pytest.mark.parametrize("change", ["time", "condition"])
def test_each_alert_has_a_case_that_notices_a_change(tmp_path, change):
    rules = yaml.safe_load(RULES.read_text())
    for rule in rules["groups"][0]["rules"]:
        before = dict(rule)
        if change == "time":
            rule["for"] = "30m"
        else:
            rule["expr"] = re.sub(r"(>|<|==|!=) 0$", "> 1000", rule["expr"]).replace("!= 1", "> 1000")
        assert promtool(tmp_path, yaml.safe_dump(rules)).returncode == 1, before["alert"]
        rule.clear()
        rule.update(before)
