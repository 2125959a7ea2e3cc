"""docs/apache-kafka-reference.md says which releases were tested, as the code has it."""

from __future__ import annotations

import re
from pathlib import Path

from highwater_chaos.experiment.kafka_versions import TESTED

PAGE = Path(__file__).parents[2] / "docs" / "apache-kafka-reference.md"


def test_the_releases_are_those_that_were_tested() -> None:
    rows = re.findall(r"^\| `([\d.]+)` \| ([^|]+) \| ([^|]*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = {release: (tuple(re.findall(r"`(\w+)`", modes)), text.strip(" `") or None) for release, modes, text in rows}
    assert shown == {release: (tested.modes, tested.metadata_version) for release, tested in TESTED.items()}
