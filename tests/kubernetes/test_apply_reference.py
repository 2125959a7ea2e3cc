"""Server-side apply against Kubernetes' own library, story by story as ``apply_reference/record.py`` recorded it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

STORIES = json.loads((Path(__file__).parent / "apply_reference" / "recorded.json").read_text("utf-8"))
NUMBER, STRING = {"type": "number"}, {"type": "string"}
SMALL = {
    "type": "object",
    "properties": {
        "x": NUMBER,
        "z": NUMBER,
        "nums": {"type": "array", "items": NUMBER, "x-kubernetes-list-type": "atomic"},
        "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    },
}
PART = {"type": "object", "properties": {"name": STRING, "w": NUMBER, "sub": SMALL}}
PARTS = {"type": "array", "items": PART, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
SHAPE = {
    "type": "object",
    "properties": {
        "apiVersion": STRING,
        "kind": STRING,
        "metadata": {"type": "object"},
        "a": STRING,
        "labels": {"type": "object", "additionalProperties": STRING},
        "atom": {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
        "spec": {"type": "object", "properties": {**SMALL["properties"], "parts": PARTS}},
    },
}


def _bare(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: str(len(story)))
def test_a_story_ends_as_recorded(story):
    from api_server import ApiError, apply
    from api_server.field_sets import decoded
    from api_server.schema import Schema

    schema, live = Schema(SHAPE), {}
    for number, step in enumerate(story):
        sent = {"apiVersion": "v1", "kind": "W", "metadata": {}, **step["object"]}
        manager = apply.Manager(step["manager"], step["op"].capitalize(), "")
        try:
            if step["op"] == "apply":
                new = apply.apply(schema, live, sent, manager, "now", force=step["force"])
            else:
                new = apply.update(schema, live, sent, manager, "v1", "now")
        except ApiError as error:
            found = {"conflicts": sorted(cause["field"] for cause in error.details["causes"])}
            assert found == step["becomes"], f"step {number}: {step}"
            continue
        owned = {f"{one.name}/{one.operation.lower()}": fields.fields for one, fields in apply.owners_of(new).items()}
        assert _bare(new) == step["becomes"].get("object"), f"step {number}: {step}"
        expected = {name: decoded(fields) for name, fields in step["becomes"]["managers"].items()}
        assert owned == expected, f"step {number}: {step}"
        live = new


def test_the_stories_are_worth_something():
    steps = [step for story in STORIES for step in story]
    assert len(steps) > 150
    assert sum("conflicts" in step["becomes"] for step in steps) > 10
