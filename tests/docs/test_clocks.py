"""What ``docs/clocks.md`` says of each check and of errors that nobody measured."""

from __future__ import annotations

import re
from typing import Any

from highwater_pipeline.anomalies import BY_WEIGHT, CLIENT_CHECKS_ON_REQUEST
from highwater_pipeline.tables.settings import ASSUMED_CLOCK_ERROR_NS


def test_every_anomaly_says_by_what_it_orders(clocks: Any) -> None:
    names = [name for row in clocks.table("By what each check orders") for name in re.findall(r"`([^`]+)`", row)]
    assert len(names) == len(set(names))
    assert set(names) == {*BY_WEIGHT, *CLIENT_CHECKS_ON_REQUEST}


def test_the_assumed_error_is_the_one_in_the_code(clocks: Any) -> None:
    rows = clocks.table("How far a clock may be off")
    assumed = {row[-1] for row in rows.values() if "assumed" in row[-1]}
    assert assumed == {f"{ASSUMED_CLOCK_ERROR_NS // 1_000_000} ms, assumed"}
