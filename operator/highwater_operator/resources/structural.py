"""From a pydantic JSON schema to the structural schema that a CustomResourceDefinition takes.

A structural schema knows no references, no recursion, no ``null`` and no type that is one of several. So:

* references are written out, and a model that contains itself ends, below :data:`DEEPEST`, in an object of any shape;
* an optional field is one that may be absent;
* a value that may be text or a whole number is ``x-kubernetes-int-or-string``;
* any other value of several types has none, and passes as it is (a switch, say: kubectl reads YAML 1.1, in which a bare
  ``off`` is false);
* a choice (:class:`~highwater_chaos.experiment.base.OneOf`) becomes a rule with a message that a person can read.

What is lost on the way is not lost for good: the operator validates every object by the model again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

DEEPEST: Final = 0
"""How often a model may contain itself: the steps inside ``parallel`` and ``repeat`` are not spelled out again, or
``kubectl apply`` could not keep the definition in its annotation (256 KiB)."""

LONGEST_LIST: Final = 64
LONGEST_MAP: Final = 64
LONGEST_TEXT: Final = 512
"""Bounds where the model has none. A rule's worst case is computed from the bounds of all that it can see, so that
there must be some."""

_KEPT: Final = ("type", "format", "enum", "pattern", "minLength", "maxLength", "minItems", "maxItems")
_ANYTHING: Final[Mapping[str, Any]] = {"x-kubernetes-preserve-unknown-fields": True}


class Choice(NamedTuple):
    """Names of fields of which one must be given, or, where that is not ``required``, one at most."""

    names: Sequence[str]
    required: bool = True


Choices = Mapping[str, Choice]
"""By the name of the model."""


def structural(schema: Mapping[str, Any], choices: Choices) -> dict[str, Any]:
    """The structural schema of a model's JSON schema (``mode="serialization"``, by alias)."""
    return _Converter(schema.get("$defs", {}), choices).convert(schema, ())


class _Converter:
    def __init__(self, definitions: Mapping[str, Any], choices: Choices) -> None:
        self._definitions = definitions
        self._choices = choices

    def convert(self, node: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        """``within``: the models that are being written out, outermost first."""
        if "$ref" in node:
            return self._reference(node, within)
        if "anyOf" in node:
            return self._union(node, within)
        made: dict[str, Any] = {}
        if description := node.get("description"):
            made["description"] = _with_limits(description, node)
        made |= {key: node[key] for key in _KEPT if key in node}
        if "const" in node:
            made["enum"] = [node["const"]]
        made |= _bounds(node)
        default = node.get("default")
        match node.get("type"):
            case "object":
                made |= self._object(node, within)
                # An absent object takes the defaults of its fields.
                if default is not None:
                    default = {}
            case "array":
                made["items"] = self.convert(node["items"], within) if "items" in node else dict(_ANYTHING)
                made.setdefault("maxItems", LONGEST_LIST)
            case "integer":
                made["format"] = "int64"
            case "string" if "enum" not in made and "format" not in made:
                made.setdefault("maxLength", LONGEST_TEXT)
            case None:
                made = {**dict(_ANYTHING), **({"description": made["description"]} if "description" in made else {})}
        if default is not None:
            made["default"] = default
        if "properties" in made and (choice := self._choices.get(node.get("title", ""))) is not None:
            made["x-kubernetes-validations"] = [_one_of(choice, made["properties"])]
        return made

    def _reference(self, node: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        name = node["$ref"].removeprefix("#/$defs/")
        definition = self._definitions[name]
        beside = {key: node[key] for key in ("description", "default") if key in node}
        if within.count(name) > DEEPEST:
            made: dict[str, Any] = {"type": "object", **_ANYTHING}
            if text := beside.get("description") or definition.get("description"):
                made["description"] = _one_paragraph(text)
            return made
        return self.convert({**definition, **beside, "title": name}, (*within, name))

    def _union(self, node: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        options = [option for option in node["anyOf"] if option.get("type") != "null"]
        beside = {key: node[key] for key in ("description", "default") if key in node}
        if len(options) == 1:
            return self.convert({**options[0], **beside}, within)
        made = _text_or_number(options) or dict(_ANYTHING)
        if "description" in beside:
            made["description"] = _with_limits(beside["description"], beside)
        if beside.get("default") is not None:
            made["default"] = beside["default"]
        return made

    def _object(self, node: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        if "properties" not in node:
            values = node.get("additionalProperties")
            if not isinstance(values, Mapping):
                return dict(_ANYTHING)
            return {
                "additionalProperties": self.convert(values, within),
                "maxProperties": node.get("maxProperties", LONGEST_MAP),
                **({"minProperties": node["minProperties"]} if "minProperties" in node else {}),
            }
        made: dict[str, Any] = {
            "properties": {name: self.convert(field, within) for name, field in node["properties"].items()}
        }
        if required := node.get("required"):
            made["required"] = list(required)
        return made


def _text_or_number(options: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """A value that is text or a whole number; None: it may be something else."""
    by_type = {option.get("type"): option for option in options}
    if len(options) != len(by_type) or set(by_type) != {"string", "integer"}:
        return None
    text, number = by_type["string"], by_type["integer"]
    made: dict[str, Any] = {"x-kubernetes-int-or-string": True}
    made |= {key: text[key] for key in ("pattern", "minLength", "maxLength") if key in text}
    made |= _bounds(number)
    rule = None
    if "enum" in text and "enum" in number:
        # `enum` would show figures twice: as text, and bare.
        rule = f"type(self) == string ? self in {json.dumps(text['enum'])} : self in {json.dumps(number['enum'])}"
    elif "const" in number:
        # `maximum` would say that a number is too large, where text was expected.
        rule = f"type(self) == string || self == {number['const']}"
    if rule is not None:
        made["x-kubernetes-validations"] = [{"rule": rule, "message": f"expected {text['description']}"}]
    return made


def _bounds(node: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if bound in node:
            made[bound] = node[bound]
        elif exclusive in node and abs(node[exclusive]) < 2**53:
            # Beyond that the API server's own arithmetic (floating point) turns the bound around; int64 bounds it too.
            made |= {bound: node[exclusive], exclusive: True}
    return made


def _one_of(choice: Choice, properties: Mapping[str, Any]) -> dict[str, Any]:
    names = choice.names
    # Where there is a field that rules do not see, the operator has to notice that nothing was chosen.
    seen = [name for name in names if _visible(properties[name])]
    counted = " + ".join(f"(has(self.{_escaped(name)}) ? 1 : 0)" for name in seen)
    return {
        "rule": f"{counted} {'==' if choice.required and seen == list(names) else '<='} 1",
        "message": f"expected {'exactly' if choice.required else 'at most'} one of {', '.join(names)}",
    }


def _visible(field: Mapping[str, Any]) -> bool:
    """Whether rules see a field: it has a type, and so has what it consists of."""
    inner = field.get("items") or field.get("additionalProperties")
    typed = "type" in field or "x-kubernetes-int-or-string" in field
    return typed and (inner is None or _visible(inner))


def _escaped(name: str) -> str:
    return f"__{name}__" if name in _RESERVED else name


_RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in"}
) | {"let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while"}


def _with_limits(text: str, field: Mapping[str, Any]) -> str:
    """A description with what ``kubectl explain`` does not show by itself: bounds and default."""
    parts = [_one_paragraph(text).removesuffix(".")]
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        parts.append(f"{low} to {high}")
    elif low:
        parts.append(f"At least {low}")
    elif (above := field.get("exclusiveMinimum")) is not None:
        parts.append(f"More than {above}" + (f", at most {high}" if high is not None else ""))
    match field.get("default"):
        case bool() as default:
            parts.append(f"Default: {str(default).lower()}")
        case int() | float() as default:
            parts.append(f"Default: {default:g}")
        case str() as default if default:
            parts.append(f"Default: {default}")
    return ". ".join(parts) + "."


def _one_paragraph(text: str) -> str:
    """A docstring as ``kubectl explain`` should show it: no line ends, no double backquotes."""
    return " ".join(text.replace("``", "`").split())
