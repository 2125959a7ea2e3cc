"""Which resources there are: Kubernetes' own from a table, custom ones from CRDs as they come and go."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from . import events
from . import schema as schemas
from .schema import Json, Schema

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CRD_GROUP: Final = "apiextensions.k8s.io"


class TableKey(NamedTuple):
    """Where objects of all versions of a resource are kept."""

    group: str
    plural: str


CRDS: Final = TableKey(CRD_GROUP, "customresourcedefinitions")
NAMESPACES: Final = TableKey("", "namespaces")
PODS: Final = TableKey("", "pods")
JOBS: Final = TableKey("batch", "jobs")


@dataclass(frozen=True, eq=False)
class ResourceType:
    """One resource in one version."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    schema: Schema
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    singular: str = ""
    list_kind: str = ""
    crd: Json | None = None
    """The definition of a custom resource."""
    crd_version: Json = field(default_factory=dict)
    """The version's entry in it."""
    into_storage: Callable[[Json], Json] | None = None
    """To the version in which objects are kept, where that is another."""
    from_storage: Callable[[Json], Json] | None = None
    kept_as: TableKey | None = None

    @functools.cached_property
    def table(self) -> TableKey:
        """Where its objects are kept."""
        return self.kept_as or TableKey(self.group, self.plural)

    @property
    def api_version(self) -> str:
        """``apps/v1``; plain ``v1`` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def has_generation(self) -> bool:
        """Whether ``metadata.generation`` counts changes of the spec."""
        return self.crd is not None or self.table in _WITH_GENERATION

    @property
    def listed_as(self) -> str:
        """Kind of a list of it."""
        return self.list_kind or f"{self.kind}List"

    def entry(self) -> list[Json]:
        """What discovery tells, subresources included."""
        main = {
            "name": self.plural,
            "singularName": self.singular or self.kind.lower(),
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": list(ALL_VERBS),
            **({"shortNames": list(self.short_names)} if self.short_names else {}),
            **({"categories": list(self.categories)} if self.categories else {}),
            "storageVersionHash": "",
        }
        entries = [main]
        for name in sorted(self.subresources):
            if name == "scale":
                shape: Json = {"kind": "Scale", "group": "autoscaling", "version": "v1"}
            elif name == "eviction":
                shape = {"kind": "Eviction", "group": "policy", "version": "v1"}
            else:
                shape = {"kind": self.kind}
            verbs = {
                "log": ["get"],
                "eviction": ["create"],
                "binding": ["create"],
                "portforward": ["create", "get"],
            }.get(name, ["get", "patch", "update"])
            entries.append(
                {
                    "name": f"{self.plural}/{name}",
                    "singularName": "",
                    "namespaced": self.namespaced,
                    **shape,
                    "verbs": verbs,
                }
            )
        return entries


_S: Final = frozenset({"status"})
_SCALED: Final = frozenset({"status", "scale"})
_ALL: Final = ("all",)
# group, version, kind, plural, namespaced, short names, categories, subresources
_TABLE: Final[tuple[tuple[str, str, str, str, bool, tuple[str, ...], tuple[str, ...], frozenset[str]], ...]] = (
    ("", "v1", "Namespace", "namespaces", False, ("ns",), (), _S),
    ("", "v1", "Node", "nodes", False, ("no",), (), _S),
    ("", "v1", "PersistentVolume", "persistentvolumes", False, ("pv",), (), _S),
    ("", "v1", "Pod", "pods", True, ("po",), _ALL, frozenset({"status", "log", "eviction", "binding", "portforward"})),
    ("", "v1", "Service", "services", True, ("svc",), _ALL, _S),
    ("", "v1", "Endpoints", "endpoints", True, ("ep",), (), frozenset()),
    ("", "v1", "ConfigMap", "configmaps", True, ("cm",), (), frozenset()),
    ("", "v1", "Secret", "secrets", True, (), (), frozenset()),
    ("", "v1", "Event", "events", True, ("ev",), (), frozenset()),
    ("", "v1", "ServiceAccount", "serviceaccounts", True, ("sa",), (), frozenset()),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, ("pvc",), (), _S),
    ("", "v1", "ResourceQuota", "resourcequotas", True, ("quota",), (), _S),
    ("", "v1", "LimitRange", "limitranges", True, ("limits",), (), frozenset()),
    ("apps", "v1", "StatefulSet", "statefulsets", True, ("sts",), _ALL, _SCALED),
    ("apps", "v1", "Deployment", "deployments", True, ("deploy",), _ALL, _SCALED),
    ("apps", "v1", "DaemonSet", "daemonsets", True, ("ds",), _ALL, _S),
    ("apps", "v1", "ReplicaSet", "replicasets", True, ("rs",), _ALL, _SCALED),
    ("apps", "v1", "ControllerRevision", "controllerrevisions", True, (), (), frozenset()),
    ("batch", "v1", "Job", "jobs", True, (), _ALL, _S),
    ("batch", "v1", "CronJob", "cronjobs", True, ("cj",), _ALL, _S),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", True, ("pdb",), (), _S),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", True, ("netpol",), (), frozenset()),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", True, ("ing",), (), _S),
    ("coordination.k8s.io", "v1", "Lease", "leases", True, (), (), frozenset()),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", True, (), (), frozenset()),
    ("events.k8s.io", "v1", "Event", "events", True, ("ev",), (), frozenset()),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", False, ("sc",), (), frozenset()),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False, ("pc",), (), frozenset()),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", True, (), (), frozenset()),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", True, (), (), frozenset()),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", False, (), (), frozenset()),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", False, (), (), frozenset()),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        False,
        (),
        ("api-extensions",),
        frozenset(),
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        False,
        (),
        ("api-extensions",),
        frozenset(),
    ),
    (
        CRD_GROUP,
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        False,
        ("crd", "crds"),
        ("api-extensions",),
        _S,
    ),
)

_WITH_GENERATION: Final = frozenset(
    TableKey(group, plural)
    for group, plural in (
        ("apps", "statefulsets"),
        ("apps", "deployments"),
        ("apps", "daemonsets"),
        ("apps", "replicasets"),
        ("batch", "jobs"),
        ("batch", "cronjobs"),
        ("policy", "poddisruptionbudgets"),
        ("networking.k8s.io", "networkpolicies"),
        ("networking.k8s.io", "ingresses"),
        ("", "pods"),
        (CRD_GROUP, "customresourcedefinitions"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    )
)


@functools.cache
def _definition_names() -> dict[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    for name, raw in schemas.definitions().items():
        for gvk in raw.get("x-kubernetes-group-version-kind", ()):
            # DeleteOptions and WatchEvent name every group; only the type's own entry counts.
            if name.rpartition(".")[2] == gvk["kind"]:
                found.setdefault((gvk["group"], gvk["version"], gvk["kind"]), name)
    return found


@functools.cache
def built_in_types() -> tuple[ResourceType, ...]:
    """Kubernetes' own."""
    names = _definition_names()
    types = []
    for group, version, kind, plural, namespaced, short_names, categories, subresources in _TABLE:
        shape = schemas.built_in(names[group, version, kind])
        made = ResourceType(group, version, kind, plural, namespaced, shape, short_names, categories, subresources)
        if (group, plural) == ("events.k8s.io", "events"):
            made = replace(
                made, kept_as=TableKey("", "events"), into_storage=events.to_core, from_storage=events.from_core
            )
        types.append(made)
    return tuple(types)


def _as_version(api_version: str, obj: Json) -> Json:
    """Conversion with strategy ``None``: only the name of the version changes."""
    return {**obj, "apiVersion": api_version}


def custom_types(crd: Json) -> list[ResourceType]:
    """What a CRD defines: one type a served version."""
    spec = crd["spec"]
    names = spec["names"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    types = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        other = version["name"] != stored
        types.append(
            ResourceType(
                spec["group"],
                version["name"],
                names["kind"],
                names["plural"],
                spec["scope"] == "Namespaced",
                schemas.custom((version.get("schema") or {}).get("openAPIV3Schema")),
                tuple(names.get("shortNames") or ()),
                tuple(names.get("categories") or ()),
                frozenset(version.get("subresources") or ()),
                names.get("singular") or names["kind"].lower(),
                names.get("listKind") or "",
                crd,
                version,
                functools.partial(_as_version, f"{spec['group']}/{stored}") if other else None,
                functools.partial(_as_version, f"{spec['group']}/{version['name']}") if other else None,
            )
        )
    return types


class Registry:
    """The types that are served at the moment."""

    def __init__(self) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        for kind in built_in_types():
            self._types[kind.group, kind.version, kind.plural] = kind

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """By its path."""
        return self._types.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """By what an object says of itself."""
        group, _, version = api_version.rpartition("/")
        for found in self._types.values():
            if (found.group, found.version, found.kind) == (group, version, kind):
                return found
        return None

    def of_table(self, table: TableKey) -> ResourceType | None:
        """Any version of a resource."""
        return next((found for found in self._types.values() if found.table == table), None)

    def all(self) -> list[ResourceType]:
        """Every one, in the order of the table and of arrival."""
        return list(self._types.values())

    def groups(self) -> dict[str, list[str]]:
        """Versions by group."""
        found: dict[str, list[str]] = {}
        for kind in self._types.values():
            versions = found.setdefault(kind.group, [])
            if kind.version not in versions:
                versions.append(kind.version)
        return found

    def define(self, crd: Json) -> None:
        """Serves what a CRD defines, and no longer what it defined before."""
        self.undefine(crd)
        for kind in custom_types(crd):
            self._types[kind.group, kind.version, kind.plural] = kind

    def undefine(self, crd: Json) -> None:
        """Serves it no longer."""
        spec: dict[str, Any] = crd["spec"]
        for key in [key for key in self._types if key[0] == spec["group"] and key[2] == spec["names"]["plural"]]:
            del self._types[key]
