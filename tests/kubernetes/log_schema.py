"""The parser of log lines of every component: docs/logs.md is the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

_DOCS = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
_FIELDS = {
    name: (of, meaning)
    for names, of, meaning in re.findall(r"^\| (`.+?) \| (.+?) \| (.+?) \|$", _DOCS.partition("## Events")[0], re.M)
    for name in re.findall(r"`(\w+)`", names)
}
EACH = {name for name, (of, _) in _FIELDS.items() if of == "each line"}
LEVELS, COMPONENTS = ({*re.findall(r"`(\w+)`", _FIELDS[name][1])} for name in ("level", "component"))
EVENTS = {
    (component, event)
    for events, components in re.findall(r"^\| (`.+?) \| (.+?) \| .+ \|$", _DOCS.partition("## Events")[2], re.M)
    for event in re.findall(r"`(.+?)`", events)
    for component in components.split(", ")
}
OBJECT = ("namespace", "kind", "name")


def parsed(lines: Iterable[str]) -> list[dict[str, Any]]:
    """The fields of each line; fails at one that is not of the schema."""
    found = []
    for line in lines:
        fields = json.loads(line, parse_constant=_refuse)
        assert fields.keys() >= EACH, line
        assert fields["level"] in LEVELS, line
        assert fields["component"] in COMPONENTS, line
        assert datetime.fromisoformat(fields["time"]).utcoffset() is not None, line
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields["time"]), line
        assert isinstance(fields["event"], str), line
        assert "kind" not in fields or fields["kind"] in ("ChaosExperiment", "LogCluster", "Pod", "Namespace"), line
        assert ("kind" in fields) == ("name" in fields), line
        found.append(fields)
    return found


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
