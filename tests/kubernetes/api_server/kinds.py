"""Which kinds are served: Kubernetes' own from a table, custom ones from CRDs; and what discovery says of them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from . import schema as schemas
from .errors import Json
from .schema import Schema

_VERBS: Final = ("create", "delete", "get", "list", "patch", "watch")


class Table(NamedTuple):
    """Where objects of a kind are kept."""

    group: str
    plural: str


CRDS: Final = Table("apiextensions.k8s.io", "customresourcedefinitions")
NAMESPACES: Final = Table("", "namespaces")
PODS: Final = Table("", "pods")
BUDGETS: Final = Table("policy", "poddisruptionbudgets")
CLAIMS: Final = Table("", "persistentvolumeclaims")
SETS: Final = Table("apps", "statefulsets")
JOBS: Final = Table("batch", "jobs")


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind in one version."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    schema: Schema
    subresources: tuple[str, ...] = ()
    custom: bool = False
    columns: list[Json] = field(default_factory=list)
    """What ``kubectl get`` prints of a custom kind."""
    names: Json = field(default_factory=dict)
    """Short names and categories of a custom kind."""
    scale: Json = field(default_factory=dict)
    """Paths of its subresource ``scale``."""

    @functools.cached_property
    def table(self) -> Table:
        return Table(self.group, self.plural)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Where its group and version is served."""
        return f"apis/{self.api_version}" if self.group else f"api/{self.version}"

    @property
    def has_generation(self) -> bool:
        return bool(self.group) and self.group != "rbac.authorization.k8s.io"

    def entries(self) -> list[Json]:
        """What discovery says, subresources included."""
        main = {"name": self.plural, "singularName": self.kind.lower(), "verbs": _VERBS} | self.names
        parts = [{"name": f"{self.plural}/{one}", "singularName": "", "verbs": _VERBS} for one in self.subresources]
        found = [one | {"namespaced": self.namespaced, "kind": self.kind} for one in (main, *parts)]
        scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        return [one | (scale if one["name"].endswith("/scale") else {}) for one in found]


_S: Final = ("status",)
# group, version, kind, plural, namespaced, subresources
_BUILT_IN: Final[tuple[tuple[str, str, str, str, bool, tuple[str, ...]], ...]] = (
    ("", "v1", "Namespace", "namespaces", False, _S),
    ("", "v1", "Node", "nodes", False, _S),
    ("", "v1", "Pod", "pods", True, ("status", "log", "portforward", "eviction")),
    ("", "v1", "Service", "services", True, _S),
    ("", "v1", "ConfigMap", "configmaps", True, ()),
    ("", "v1", "Secret", "secrets", True, ()),
    ("", "v1", "Event", "events", True, ()),
    ("", "v1", "ServiceAccount", "serviceaccounts", True, ()),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, _S),
    ("apps", "v1", "StatefulSet", "statefulsets", True, _S),
    ("apps", "v1", "Deployment", "deployments", True, _S),
    ("apps", "v1", "DaemonSet", "daemonsets", True, _S),
    ("batch", "v1", "Job", "jobs", True, _S),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", True, _S),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", True, ()),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", True, ()),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", True, ()),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", False, ()),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", False, ()),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False, _S),
)


@functools.cache
def _built_in() -> tuple[Kind, ...]:
    names: dict[Any, str] = {}
    for name, raw in schemas.definitions().items():
        for said in raw.get("x-kubernetes-group-version-kind", ()):
            if name.rpartition(".")[2] == said["kind"]:
                names.setdefault((said["group"], said["version"], said["kind"]), name)
    return tuple(
        Kind(group, version, kind, plural, namespaced, schemas.built_in(names[group, version, kind]), parts)
        for group, version, kind, plural, namespaced, parts in _BUILT_IN
    )


class Registry:
    """The kinds that are served now."""

    def __init__(self) -> None:
        self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in _built_in()}

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def of_kind(self, api_version: str, name: str) -> Kind:
        group, _, version = api_version.rpartition("/")
        for found in self._kinds.values():
            if found.kind == name and (found.group, found.version) == (group, version):
                return found
        raise LookupError(f"{name} in {api_version} is not served: apply its CustomResourceDefinition first")

    def of_table(self, table: Table) -> Kind:
        return next(found for found in self._kinds.values() if found.table == table)

    def define(self, crd: Json) -> None:
        """Serve what a CRD of one version defines."""
        spec = crd["spec"]
        (version,) = (one for one in spec["versions"] if one["served"])
        key = (spec["group"], version["name"], spec["names"]["plural"])
        self._kinds[key] = Kind(
            spec["group"],
            version["name"],
            spec["names"]["kind"],
            spec["names"]["plural"],
            spec["scope"] == "Namespaced",
            schemas.custom(version["schema"]["openAPIV3Schema"]),
            tuple(version.get("subresources", ())),
            True,
            version.get("additionalPrinterColumns", []),
            {key: value for key, value in spec["names"].items() if key in ("shortNames", "categories")},
            version.get("subresources", {}).get("scale", {}),
        )

    def undefine(self, crd: Json) -> None:
        spec = crd["spec"]
        for key in [key for key in self._kinds if key[::2] == (spec["group"], spec["names"]["plural"])]:
            del self._kinds[key]

    def page(self, parts: list[str]) -> Json | None:
        """A page of discovery, by the parts of its path; None: there is no such page."""
        groups = {(kind.group, kind.version): None for kind in self._kinds.values()}
        match parts:
            case ["version"]:
                return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
            case ["api"]:
                return {"kind": "APIVersions", "versions": ["v1"]}
            case ["apis"]:
                said = [
                    {"groupVersion": f"{group}/{version}", "version": version} for group, version in groups if group
                ]
                listed = [
                    {"name": one["groupVersion"].partition("/")[0], "versions": [one], "preferredVersion": one}
                    for one in said
                ]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
            case ["api", version] if ("", version) in groups:
                return self._resources("", version)
            case ["apis", group, version] if (group, version) in groups:
                return self._resources(group, version)
            case ["openapi", "v3"]:
                found = dict.fromkeys(kind.path for kind in self._kinds.values())
                return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in found}}
            case ["openapi", "v3", *rest]:
                return self._patches("/".join(rest))
        return None

    def _patches(self, path: str) -> Json:
        """All that kubectl reads of OpenAPI before it applies: the server checks fields, so that it need not."""
        made = {}
        for kind in self._kinds.values():
            if kind.path == path:
                named = {"group": kind.group, "version": kind.version, "kind": kind.kind}
                patch = {"parameters": [{"name": "fieldValidation", "in": "query"}]}
                patch |= {"x-kubernetes-group-version-kind": named}
                made[f"/{path}/{kind.plural}/{{name}}"] = {"patch": patch}
        return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.34.0"}, "paths": made}

    def _resources(self, group: str, version: str) -> Json:
        kinds = [kind for kind in self._kinds.values() if (kind.group, kind.version) == (group, version)]
        entries = [entry for kind in kinds for entry in kind.entries()]
        head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": kinds[0].api_version}
        return head | {"resources": entries}
