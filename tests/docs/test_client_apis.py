"""The table of APIs says what brokers offer, no more and no less."""

from __future__ import annotations

from typing import Any

from highwater_runtime.broker.apis.api_versions import LOWEST_SERVED, OFFERED
from highwater_runtime.broker.apis.forward import FORWARDED
from highwater_runtime.wire.registry import api_of

HEADING = "APIs for clients"


def test_every_api_is_documented_with_its_versions(protocol: Any) -> None:
    rows = protocol.tables(HEADING)[0][1:]
    expected = {}
    for key, (low, high) in OFFERED.items():
        served = LOWEST_SERVED.get(key, low)
        name = api_of(key).request.NAME.removesuffix("Request")
        expected[name] = f"{served} to {high}" if served < high else str(high)
    assert {row[0]: row[1] for row in rows} == expected


def test_what_is_passed_on_to_the_controller_is_documented_so(protocol: Any) -> None:
    rows = protocol.tables(HEADING)[0][1:]
    passed_on = {api_of(key).request.NAME.removesuffix("Request") for key in FORWARDED}
    assert {row[0] for row in rows if row[2] == "controller"} == passed_on
