"""What the server says about itself: versions, groups, resources, and enough of OpenAPI for ``kubectl explain``."""

from __future__ import annotations

from typing import Any, Final

from . import schema as schemas
from .resource_types import Registry, ResourceType
from .schema import Json

VERSION: Final[Json] = {
    "major": "1",
    "minor": "34",
    "gitVersion": "v1.34.0",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2025-08-27T10:17:22Z",
    "goVersion": "go1.24.5",
    "compiler": "gc",
    "platform": "linux/amd64",
}


def core_versions(address: str) -> Json:
    """``/api``."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def _group(name: str, versions: list[str]) -> Json:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def groups(registry: Registry) -> Json:
    """``/apis``."""
    found = [_group(name, versions) for name, versions in registry.groups().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(registry: Registry, name: str) -> Json | None:
    """``/apis/<group>``."""
    versions = registry.groups().get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if name and versions else None


def resources(registry: Registry, name: str, version: str) -> Json | None:
    """``/api/v1``, ``/apis/<group>/<version>``."""
    kinds = [kind for kind in registry.all() if (kind.group, kind.version) == (name, version)]
    if not kinds:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": kinds[0].api_version,
        "resources": [entry for kind in kinds for entry in kind.entry()],
    }


def _place(name: str, version: str) -> str:
    return f"apis/{name}/{version}" if name else f"api/{version}"


def open_api_index(registry: Registry) -> Json:
    """``/openapi/v3``."""
    return {
        "paths": {
            _place(name, version): {"serverRelativeURL": f"/openapi/v3/{_place(name, version)}"}
            for name, versions in registry.groups().items()
            for version in versions
        }
    }


def _schema_name(kind: ResourceType) -> str:
    if kind.crd is None:
        for name, raw in schemas.definitions().items():
            if raw is kind.schema.raw:
                return name
    reverse = ".".join(reversed(kind.group.split(".")))
    return f"{reverse}.{kind.version}.{kind.kind}"


def open_api(registry: Registry, name: str, version: str) -> Json | None:
    """``/openapi/v3/…``: the schemas of one group and version, and a path for each resource."""
    kinds = [kind for kind in registry.all() if (kind.group, kind.version) == (name, version)]
    if not kinds:
        return None
    found: Json = {}
    paths: Json = {}
    for kind in kinds:
        gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        schema_name = _schema_name(kind)
        raw = kind.schema.raw
        if kind.crd is not None:
            properties = {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                **raw.get("properties", {}),
                "metadata": {"$ref": f"#/components/schemas/{_META}"},
            }
            raw = {**raw, "properties": properties}
            _collect({"$ref": f"#/$defs/{_META}"}, found)
        found[schema_name] = _translated({**raw, "x-kubernetes-group-version-kind": [gvk]})
        _collect(raw, found)
        scope = "namespaces/{namespace}/" if kind.namespaced else ""
        base = f"/{_place(name, version)}/{scope}{kind.plural}"
        answer = {"200": {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema_name}"}}}}}
        field_validation = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]
        paths[base] = {
            "post": {
                "x-kubernetes-action": "post",
                "x-kubernetes-group-version-kind": gvk,
                "parameters": field_validation,
                "responses": answer,
            }
        }
        paths[f"{base}/{{name}}"] = {
            "get": {"x-kubernetes-action": "get", "x-kubernetes-group-version-kind": gvk, "responses": answer},
            "patch": {
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": gvk,
                "parameters": [*field_validation, {"name": "dryRun", "in": "query", "schema": {"type": "string"}}],
                "responses": answer,
            },
        }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
        "paths": paths,
        "components": {"schemas": found},
    }


_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def _collect(raw: Any, found: Json) -> None:
    """Adds every definition that is referred to."""
    match raw:
        case dict():
            reference = raw.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                name = reference.rpartition("/")[2]
                if name not in found:
                    found[name] = {}
                    definition = schemas.definitions()[name]
                    _collect(definition, found)
                    found[name] = _translated(definition)
            for value in raw.values():
                _collect(value, found)
        case list():
            for value in raw:
                _collect(value, found)


def _translated(raw: Any) -> Any:
    """From JSON schema to OpenAPI: one type, references into the components."""
    match raw:
        case dict():
            made = {key: _translated(value) for key, value in raw.items()}
            if isinstance(made.get("type"), list):
                made["type"] = next(kind for kind in made["type"] if kind != "null")
            if isinstance(made.get("$ref"), str):
                made["$ref"] = made["$ref"].replace("#/$defs/", "#/components/schemas/")
            return made
        case list():
            return [_translated(value) for value in raw]
        case _:
            return raw
