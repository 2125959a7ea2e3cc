"""What the server knows of the shape of an object: one small tree for built-in and custom resources alike.

Built-in types come from the OpenAPI definitions of Kubernetes 1.34, as the package ``kubernetes-validate`` ships them,
with the extensions that say how lists merge (``x-kubernetes-list-type``, ``…-map-keys``, ``patch-merge-key``). Custom
types come from their CRD. Trees are built lazily, because built-in types refer to each other without end.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any, Final, Literal

Json = dict[str, Any]
ListType = Literal["atomic", "set", "map"]

_DEFINITIONS: Final = "kubernetes-json-schema/v1.34.0-local/_definitions.json"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@functools.cache
def definitions() -> dict[str, Json]:
    """Kubernetes' own types by their long names."""
    text = resources.files("kubernetes_validate").joinpath(_DEFINITIONS).read_text("utf-8")
    found: dict[str, Json] = json.loads(text)["$defs"]
    return found


class Schema:
    """One node: an object, a list, a scalar, or anything at all."""

    def __init__(self, raw: Json, *, embedded: bool = False) -> None:
        self.raw = raw
        kinds = raw.get("type")
        found = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds] if kinds else []
        self.type: str | None = found[0] if len(found) == 1 else None
        self.nullable = bool(raw.get("nullable")) or (isinstance(kinds, list) and "null" in kinds)
        self.int_or_string = bool(raw.get("x-kubernetes-int-or-string"))
        self.preserves = bool(raw.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded = embedded or bool(raw.get("x-kubernetes-embedded-resource"))
        self.atomic_map = raw.get("x-kubernetes-map-type") == "atomic"
        self.list_type: ListType = raw.get("x-kubernetes-list-type", "atomic")
        self.list_keys: tuple[str, ...] = tuple(raw.get("x-kubernetes-list-map-keys", ()))
        self.merge_key: str | None = raw.get("x-kubernetes-patch-merge-key")
        self.strategy: tuple[str, ...] = tuple(filter(None, raw.get("x-kubernetes-patch-strategy", "").split(",")))
        self._properties: dict[str, Schema] = {}

    @functools.cached_property
    def items(self) -> Schema:
        """Of a list."""
        raw = self.raw.get("items")
        return schema_of(raw) if raw else ANYTHING

    @functools.cached_property
    def additional(self) -> Schema | None:
        """Of the values of a map; none for an object with fixed fields."""
        raw = self.raw.get("additionalProperties")
        if raw is None or raw is False:
            return None
        return ANYTHING if raw is True else schema_of(raw)

    def field(self, name: str) -> Schema | None:
        """A fixed field's schema, or the map's, or nothing where the field is unknown."""
        known = self._properties.get(name)
        if known is None:
            raw = self.raw.get("properties", {}).get(name)
            if self.embedded and name == "metadata":
                known = object_meta()
            elif self.embedded and name in ("apiVersion", "kind"):
                known = _STRING
            elif raw is not None:
                known = schema_of(raw)
            else:
                return self.additional
            self._properties[name] = known
        return known

    def is_fixed(self, name: str) -> bool:
        """Whether it is a field of a struct rather than a key of a map."""
        return name in self.raw.get("properties", ()) or (self.embedded and name in ("metadata", "apiVersion", "kind"))

    @property
    def open(self) -> bool:
        """Whether nothing is known about what is inside."""
        return self.type is None and "properties" not in self.raw and "items" not in self.raw


@functools.cache
def _of_reference(name: str) -> Schema:
    return Schema(_patched(name, definitions()[name]))


def _patched(name: str, raw: Json) -> Json:
    if name == "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
        return {"x-kubernetes-int-or-string": True}
    if name == "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":
        return {"type": "object", "x-kubernetes-map-type": "atomic", "x-kubernetes-preserve-unknown-fields": True}
    return raw


def schema_of(raw: Json) -> Schema:
    """The node for a piece of OpenAPI; what stands beside a reference is about the field and wins."""
    reference = raw.get("$ref")
    if reference is None:
        return Schema(raw)
    name = reference.rpartition("/")[2]
    beside = {key: value for key, value in raw.items() if key.startswith("x-kubernetes-")}
    if beside:
        return Schema({**_patched(name, definitions()[name]), **beside})
    return _of_reference(name)


def built_in(definition: str) -> Schema:
    """A built-in type by its long name."""
    return _of_reference(definition)


@functools.cache
def object_meta() -> Schema:
    """``metadata`` of everything."""
    return _of_reference(_META)


def custom(raw: Json | None) -> Schema:
    """The schema of a version of a CRD."""
    if not raw:
        return Schema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, embedded=True)
    return Schema(raw, embedded=True)


ANYTHING: Final = Schema({"x-kubernetes-preserve-unknown-fields": True})
_STRING: Final = Schema({"type": "string"})
