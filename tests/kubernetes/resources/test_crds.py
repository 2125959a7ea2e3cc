"""The committed definitions are those of the models."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from highwater_operator.resources.crds import FOLDER, definitions, files
from highwater_operator.resources.structural import Choice, structural

ROOT = Path(__file__).parents[3]
KUBECTL_ANNOTATION_LIMIT = 262_144
FOLDERS = (FOLDER, Path("helm/highwater/crds"))
NAMES = sorted({path.name for path in (ROOT / FOLDER).glob("*.yaml")} - {"kustomization.yaml"})


@cache
def made() -> dict[str, str]:
    return files()


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_committed_files_are_those_of_the_models(folder: Path, name: str) -> None:
    found = (ROOT / folder / name).read_text(encoding="utf-8")
    assert found == made()[name], "run python -m highwater_operator.resources.crds"


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_nothing_else_is_there(folder: Path) -> None:
    assert {path.name for path in (ROOT / folder).glob("*.yaml")} - {"kustomization.yaml"} == set(made())


@pytest.mark.parametrize("name", NAMES)
def test_kubectl_can_keep_the_definition_in_its_annotation(name: str) -> None:
    import json

    assert len(json.dumps(yaml.load(made()[name], yaml.CSafeLoader))) < KUBECTL_ANNOTATION_LIMIT


def nodes(schema: Any) -> Any:
    """All schemas within a schema."""
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from nodes(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key])


def schema_of(name: str) -> Any:
    return definitions()[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_structural_and_bounded(name: str) -> None:
    for part in ("spec", "status"):
        for node in nodes(schema_of(name)["properties"][part]):
            assert "$ref" not in node
            assert "anyOf" not in node
            untyped = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")
            assert "type" in node or any(node.get(key) for key in untyped), node
            if node.get("type") == "array":
                assert "maxItems" in node
            if node.get("type") == "string" and "enum" not in node and "format" not in node:
                assert "maxLength" in node or "pattern" in node


def fields(schema: Any, path: str) -> Any:
    """All fields of a schema with their paths, those of what lists and maps consist of, too."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from fields(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from fields(schema[key], path)


@pytest.mark.parametrize("name", NAMES)
def test_kubectl_explain_tells_of_every_field(name: str) -> None:
    schema = schema_of(name)
    assert schema["description"]
    all_fields = [one for part in ("spec", "status") for one in fields(schema["properties"][part], part)]
    assert len(all_fields) > 30
    for part in ("spec", "status"):
        assert schema["properties"][part]["description"]
    assert [path for path, field in all_fields if len(field.get("description", "")) < 10] == []
    for path, field in all_fields:
        text = field["description"]
        assert text.endswith("."), path
        assert "``" not in text, f"{path}: {text}"
        assert len(text) < 500, f"{path}: {text}"
        default = field.get("default")
        if isinstance(default, str | int) and default != "":
            assert text.endswith(f"Default: {str(default).lower() if isinstance(default, bool) else default}."), path
        if path.rpartition(".")[2] in DURATIONS:
            assert "duration" in text, f"{path}: {text}"


DURATIONS = ("timeout", "recovery", "within", "wait", "for", "every", "lasting", "restartAfter", "requestTimeout", "by")


# --- structural schemas ---


def test_a_choice_becomes_a_rule_that_people_can_read() -> None:
    schema = {
        "type": "object",
        "properties": {"c": {"$ref": "#/$defs/Choice"}},
        "$defs": {"Choice": {"type": "object", "properties": {"a": {"type": "string"}, "in": {"type": "string"}}}},
    }
    (rule,) = structural(schema, {"Choice": Choice(["a", "in"])})["properties"]["c"]["x-kubernetes-validations"]
    assert rule == {
        "rule": "(has(self.a) ? 1 : 0) + (has(self.__in__) ? 1 : 0) == 1",
        "message": "expected exactly one of a, in",
    }
    none_too = structural(schema, {"Choice": Choice(["a", "in"], required=False)})["properties"]["c"]
    assert none_too["x-kubernetes-validations"] == [
        {
            "rule": "(has(self.a) ? 1 : 0) + (has(self.__in__) ? 1 : 0) <= 1",
            "message": "expected at most one of a, in",
        }
    ]
