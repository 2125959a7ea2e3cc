"""The verbs on objects: what a request does between its authorization and its answer.

Used by the HTTP side, and directly by the controllers of the miniature cluster and by tests that prepare a state. The
steps of a write are those of a real server: decode, prune, default, keep what the client may not write, validate, count
the generation, note who owns what, store.
"""

from __future__ import annotations

import copy
import datetime
import random
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from . import apply as server_side_apply
from . import built_in_defaults, built_in_rules, deletion, errors, patches, structural
from .apply import Manager
from .deletion import DeleteOptions
from .errors import FieldError
from .resource_types import CRDS, NAMESPACES, PODS, Registry, ResourceType
from .schema import Json
from .store import Name, Store, Stored, encode

_LARGEST: Final = 1_572_864
"""Bytes of an object that etcd takes; what keeps a journal in a status has to mind it."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SYSTEM_FIELDS: Final = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "namespace",
    "name",
    "generateName",
)

MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Write:
    """How a write is meant: whose it is and what is asked for besides."""

    manager: str = "unknown"
    dry_run: bool = False
    validation: str = "Warn"
    force: bool = False
    trusted: bool = False
    """From the miniature cluster in this process: neither pruned nor validated, and not noted in managedFields."""
    warnings: list[str] = field(default_factory=list)
    """Filled with what the client should be told."""


def now_text() -> str:
    """The time as Kubernetes writes it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Operations:
    """What can be done to objects."""

    def __init__(self, store: Store, registry: Registry, now: Callable[[], str] = now_text) -> None:
        self.store = store
        self.registry = registry
        self.now = now

    # Reading

    def stored(self, kind: ResourceType, namespace: str, name: str) -> Stored:
        """As kept; 404 where it is not."""
        found = self.store.get(kind.table, (namespace if kind.namespaced else "", name))
        if found is None:
            raise errors.not_found(kind.group, kind.plural, name)
        return found

    def get(self, kind: ResourceType, namespace: str, name: str) -> Json:
        """In the version of the type."""
        return self.view(kind, self.stored(kind, namespace, name).obj)

    @staticmethod
    def view(kind: ResourceType, obj: Json) -> Json:
        """A kept object in the version of the type."""
        return kind.from_storage(obj) if kind.from_storage else obj

    # Writing

    def create(self, kind: ResourceType, namespace: str, sent: Json, write: Write) -> Json:
        """201, or 409 where it is there already."""
        sent = self._decoded(kind, namespace, "", sent, write)
        metadata = sent["metadata"]
        if not metadata.get("name"):
            if not metadata.get("generateName"):
                problem = errors.required("metadata.name", "name or generateName is required")
                raise errors.invalid(kind.group, kind.kind, "", [problem])
            suffix = "".join(random.choices(_LETTERS, k=5))
            sent = {**sent, "metadata": {**metadata, "name": metadata["generateName"][:58] + suffix}}
        with self.store.lock:
            return self._create(kind, namespace, sent, write, applied=False)

    def _create(self, kind: ResourceType, namespace: str, sent: Json, write: Write, *, applied: bool) -> Json:
        name = sent["metadata"]["name"]
        self._check_namespace(kind, namespace, name)
        key = (namespace if kind.namespaced else "", name)
        if self.store.get(kind.table, key) is not None:
            raise errors.already_exists(kind.group, kind.plural, name)
        if sent["metadata"].get("resourceVersion") and not applied:
            raise errors.ApiError(500, "InternalError", "resourceVersion should not be set on objects to be created")
        entries = sent["metadata"].get("managedFields") if applied else None
        metadata = {
            field_name: value
            for field_name, value in sent["metadata"].items()
            if field_name not in (*_SYSTEM_FIELDS, "resourceVersion", "managedFields", "selfLink")
        }
        metadata = {
            "name": name,
            **({"generateName": sent["metadata"]["generateName"]} if sent["metadata"].get("generateName") else {}),
            **({"namespace": namespace} if kind.namespaced else {}),
            "uid": str(uuid.uuid4()),
            "creationTimestamp": self.now(),
            **({"generation": 1} if kind.has_generation else {}),
            **metadata,
        }
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, **sent, "metadata": metadata}
        if "status" in kind.subresources:
            obj.pop("status", None)
        obj = self._defaulted(kind, obj)
        if not write.trusted:
            self._validate(kind, obj, None)
        if applied:
            obj = _with_managed(obj, entries or [])
        elif not write.trusted:
            manager = Manager(write.manager, "Update", "")
            entries = server_side_apply.after_update(kind.schema, {}, obj, manager, kind.api_version, self.now())
            obj = _with_managed(obj, entries)
        return self._commit(kind, key, obj, write)

    def replace(
        self, kind: ResourceType, namespace: str, name: str, sent: Json, write: Write, subresource: str = ""
    ) -> Json:
        """PUT: 409 where ``resourceVersion`` is sent and is not the stored one."""
        sent = self._decoded(kind, namespace, name, sent, write)
        with self.store.lock:
            live = self.get(kind, namespace, name)
            if kind.crd is not None and not sent["metadata"].get("resourceVersion"):
                problem = errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
                raise errors.invalid(kind.group, kind.kind, name, [problem])
            return self._update(kind, live, sent, write, subresource)

    def patch(
        self,
        kind: ResourceType,
        namespace: str,
        name: str,
        media_type: str,
        body: Any,
        write: Write,
        subresource: str = "",
    ) -> tuple[Json, bool]:
        """The object and whether it was made: only server-side apply makes objects."""
        if media_type == APPLY:
            return self.apply(kind, namespace, name, body, write, subresource)
        with self.store.lock:
            live = self.get(kind, namespace, name)
            return self.patch_live(kind, live, namespace, name, media_type, body, write, subresource), False

    def patch_live(
        self,
        kind: ResourceType,
        live: Json,
        namespace: str,
        name: str,
        media_type: str,
        body: Any,
        write: Write,
        subresource: str,
    ) -> Json:
        """A patch of what is there, with the lock held."""
        match media_type:
            case "application/merge-patch+json":
                if not isinstance(body, dict):
                    raise errors.bad_request("error decoding patch: a merge patch is an object")
                patched = patches.merge_patch(live, body)
            case "application/json-patch+json":
                patched = patches.json_patch(live, body)
            case "application/strategic-merge-patch+json":
                if kind.crd is not None:
                    accepted = f"{JSON_PATCH}, {MERGE}, {APPLY}"
                    raise errors.unsupported_media(accepted, media_type)
                patched = patches.strategic_merge(kind.schema, live, body)
            case _:
                raise errors.unsupported_media(f"{JSON_PATCH}, {MERGE}, {STRATEGIC}, {APPLY}", media_type)
        if (patched.get("metadata") or {}).get("name", name) != name:
            raise errors.bad_request(
                f"the name of the object ({patched['metadata']['name']}) does not match the name on the URL ({name})"
            )
        return self._update(kind, live, self._decoded(kind, namespace, name, patched, write), write, subresource)

    def apply(
        self, kind: ResourceType, namespace: str, name: str, config: Json, write: Write, subresource: str = ""
    ) -> tuple[Json, bool]:
        """Server-side apply."""
        if not isinstance(config, dict) or not config.get("apiVersion") or not config.get("kind"):
            raise errors.bad_request("PATCH of type apply needs an object with apiVersion and kind")
        if (config.get("metadata") or {}).get("managedFields"):
            raise errors.bad_request("metadata.managedFields must be nil")
        if not write.manager:
            raise errors.bad_request(
                'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
            )
        config = self._decoded(kind, namespace, name, config, write)
        config["metadata"].setdefault("name", name)
        if "status" in kind.subresources:
            if subresource == "status":
                identity = {key: config["metadata"][key] for key in ("name", "namespace") if key in config["metadata"]}
                config = {
                    "apiVersion": config["apiVersion"],
                    "kind": config["kind"],
                    "metadata": identity | _precondition(config),
                    **({"status": config["status"]} if "status" in config else {}),
                }
            else:
                config = {key: value for key, value in config.items() if key != "status"}
        manager = Manager(write.manager, "Apply", subresource)
        with self.store.lock:
            found = self.store.get(kind.table, (namespace if kind.namespaced else "", name))
            if found is None:
                if subresource:
                    raise errors.not_found(kind.group, kind.plural, name)
                if config["metadata"].get("resourceVersion") or config["metadata"].get("uid"):
                    raise errors.modified_meanwhile(kind.group, kind.plural, name)
                made = server_side_apply.apply(kind.schema, {}, config, manager, self.now(), force=write.force)
                return self._create(kind, namespace, made, write, applied=True), True
            live = self.view(kind, found.obj)
            wanted = config["metadata"].get("resourceVersion")
            if wanted and wanted != live["metadata"]["resourceVersion"]:
                raise errors.modified_meanwhile(kind.group, kind.plural, name)
            merged = server_side_apply.apply(kind.schema, live, config, manager, self.now(), force=write.force)
            return self._update(kind, live, merged, write, subresource, applied=True), False

    # The steps of a write

    def _decoded(self, kind: ResourceType, namespace: str, name: str, sent: Any, write: Write) -> Json:
        if write.trusted:
            return {**sent, "metadata": {**sent["metadata"], **({"namespace": namespace} if kind.namespaced else {})}}
        if not isinstance(sent, dict):
            raise errors.bad_request("the object provided is unrecognized (must be of type Object)")
        api_version, kind_name = sent.get("apiVersion") or kind.api_version, sent.get("kind") or kind.kind
        if api_version != kind.api_version:
            raise errors.bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({kind.api_version})"
            )
        if kind_name != kind.kind:
            raise errors.bad_request(
                f'{kind_name} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                f'no kind "{kind_name}" is registered'
            )
        metadata = dict(sent.get("metadata") or {})
        if name and metadata.get("name", name) != name:
            raise errors.bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
            )
        if kind.namespaced and namespace:
            if metadata.get("namespace", namespace) != namespace:
                raise errors.bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata["namespace"] = namespace
        if name:
            metadata["name"] = name
        if kind.crd is None or "metadata" in sent:
            wrong = built_in_rules.wrong_type(kind.schema, sent) if kind.crd is None else None
            if wrong:
                raise errors.bad_request(
                    f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {wrong}'
                )
        dropped: list[str] = []
        pruned: Json = structural.prune(
            kind.schema, {**sent, "apiVersion": api_version, "kind": kind_name, "metadata": metadata}, "", dropped
        )
        if dropped and write.validation == "Strict":
            said = ", ".join(f'unknown field "{path}"' for path in dropped)
            raise errors.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                f"strict decoding error: {said}"
            )
        if write.validation != "Ignore":
            write.warnings.extend(f'unknown field "{path}"' for path in dropped)
        return _without_nulls(pruned) if kind.crd is None else pruned

    def _check_namespace(self, kind: ResourceType, namespace: str, name: str) -> None:
        if not kind.namespaced:
            return
        found = self.store.get(NAMESPACES, ("", namespace))
        if found is None:
            raise errors.not_found("", "namespaces", namespace)
        if found.obj["metadata"].get("deletionTimestamp"):
            detail = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise errors.forbidden(kind.group, kind.plural, name, detail)

    def _defaulted(self, kind: ResourceType, obj: Json) -> Json:
        if kind.crd is None:
            return built_in_defaults.with_defaults(kind, obj)
        filled: Json = structural.with_defaults(kind.schema, obj)
        return filled

    def _validate(self, kind: ResourceType, new: Json, old: Json | None) -> None:
        problems: list[FieldError] = []
        if old is None or old["metadata"] is not new["metadata"]:
            problems += built_in_rules.validate_metadata(kind, new["metadata"])
        if kind.crd is None:
            problems += built_in_rules.validate(kind, new, old)
        else:
            problems += structural.validate(kind.schema, new, old)
        if problems:
            raise errors.invalid(kind.group, kind.kind, new["metadata"]["name"], problems)

    def _update(
        self, kind: ResourceType, live: Json, new: Json, write: Write, subresource: str, *, applied: bool = False
    ) -> Json:
        name = live["metadata"]["name"]
        sent_meta, live_meta = new["metadata"], live["metadata"]
        if sent_meta.get("resourceVersion") not in (None, "", live_meta["resourceVersion"]):
            raise errors.modified_meanwhile(kind.group, kind.plural, name)
        if sent_meta.get("uid") not in (None, "", live_meta["uid"]):
            detail = (
                f"Precondition failed: UID in precondition: {sent_meta['uid']}, UID in object meta: {live_meta['uid']}"
            )
            raise errors.conflict(kind.group, kind.plural, name, detail)
        if subresource == "status":
            managed = sent_meta.get("managedFields")
            metadata = {**live_meta, **({"managedFields": managed} if managed is not None else {})}
            body = {key: value for key, value in live.items() if key not in ("status", "metadata")}
            new = {**body, "metadata": metadata, **({"status": new["status"]} if "status" in new else {})}
        else:
            kept = {key: live_meta[key] for key in _SYSTEM_FIELDS if key in live_meta}
            metadata = {
                key: value for key, value in sent_meta.items() if key not in (*_SYSTEM_FIELDS, "selfLink")
            } | kept
            new = {**new, "metadata": metadata}
            if "status" in kind.subresources:
                new.pop("status", None)
                if "status" in live:
                    new["status"] = live["status"]
        if subresource != "status" or kind.crd is not None:
            new = self._defaulted(kind, new)
        self._check_finalizers(kind, live, new)
        generation = live_meta.get("generation")
        if generation is not None and _spec_changed(kind, live, new):
            new["metadata"] = {**new["metadata"], "generation": generation + 1}
        if not write.trusted and live != new:
            self._validate(kind, new, live)
        if not applied and not write.trusted:
            manager = Manager(write.manager, "Update", subresource)
            entries = server_side_apply.after_update(kind.schema, live, new, manager, kind.api_version, self.now())
            new = _with_managed(new, entries)
        return self._commit(kind, (live_meta.get("namespace", ""), name), new, write)

    @staticmethod
    def _check_finalizers(kind: ResourceType, live: Json, new: Json) -> None:
        if not live["metadata"].get("deletionTimestamp"):
            return
        before = live["metadata"].get("finalizers") or ()
        added = [name for name in new["metadata"].get("finalizers") or () if name not in before]
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            detail = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            problem = errors.forbidden_field("metadata.finalizers", detail)
            raise errors.invalid(kind.group, kind.kind, live["metadata"]["name"], [problem])

    def _commit(self, kind: ResourceType, key: Name, obj: Json, write: Write) -> Json:
        obj = kind.into_storage(obj) if kind.into_storage else obj
        if kind.table == CRDS:
            obj = _established(obj, self.now())
        if not write.trusted and len(encode(obj)) > _LARGEST:
            raise errors.ApiError(500, "", "etcdserver: request is too large")
        if write.dry_run:
            return self.view(kind, obj)
        metadata = obj["metadata"]
        ended = (
            metadata.get("deletionTimestamp")
            and not metadata.get("finalizers")
            and not (kind.table == PODS and metadata.get("deletionGracePeriodSeconds"))
            and not (kind.table == NAMESPACES and obj["spec"].get("finalizers"))
        )
        stored = self.store.put(kind.table, key, obj)
        if kind.table == CRDS:
            self.registry.define(stored.obj)
        if ended:
            self._remove(kind, key)
        return self.view(kind, stored.obj)

    def _remove(self, kind: ResourceType, key: Name) -> None:
        last = self.store.remove(kind.table, key)
        if last is not None and kind.table == CRDS:
            self.registry.undefine(last.obj)

    # Deleting

    def delete(
        self, kind: ResourceType, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> tuple[Json, bool]:
        """The object as it was at last, and whether it is gone already (it may wait for finalizers)."""
        options = options or DeleteOptions()
        with self.store.lock:
            obj = self.stored(kind, namespace, name).obj
            metadata = obj["metadata"]
            if options.uid is not None and options.uid != metadata["uid"]:
                detail = (
                    f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {metadata['uid']}"
                )
                raise errors.conflict(kind.group, kind.plural, name, detail)
            version = metadata["resourceVersion"]
            if options.resource_version is not None and options.resource_version != version:
                detail = (
                    f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
                    f"ResourceVersion in object meta: {version}"
                )
                raise errors.conflict(kind.group, kind.plural, name, detail)
            if options.dry_run:
                return self.view(kind, obj), True
            key = (metadata.get("namespace", ""), name)
            ending = deletion.ending(kind, obj, options, self.store, self.now())
            if ending is None:
                self._remove(kind, key)
                return self.view(kind, obj), True
            stored = self.store.put(kind.table, key, ending)
            return self.view(kind, stored.obj), False

    def delete_all(
        self, kind: ResourceType, namespace: str, chosen: Callable[[Json], bool] | None, options: DeleteOptions
    ) -> list[Json]:
        """Deletecollection."""
        with self.store.lock:
            found = [item.obj for item in self.store.listing(kind.table, namespace if kind.namespaced else "").items]
            return [
                self.delete(kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"], options)[0]
                for obj in found
                if chosen is None or chosen(self.view(kind, obj))
            ]


def _precondition(config: Json) -> Json:
    version = config["metadata"].get("resourceVersion")
    return {"resourceVersion": version} if version else {}


def _with_managed(obj: Json, entries: Iterable[Json]) -> Json:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    listed = list(entries)
    return {**obj, "metadata": {**metadata, **({"managedFields": listed} if listed else {})}}


def _without_nulls(value: Any) -> Any:
    """Built-in types do not tell null from absent."""
    match value:
        case dict():
            if not any(inner is None or isinstance(inner, dict | list) for inner in value.values()):
                return value
            return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value


def _bare(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def _spec_changed(kind: ResourceType, live: Json, new: Json) -> bool:
    if _bare(live) != _bare(new):
        return True
    counts_status = kind.crd is not None and "status" not in kind.subresources
    return counts_status and live.get("status") != new.get("status")


def _established(crd: Json, now: str) -> Json:
    """A definition is served as soon as it is there."""
    spec = crd["spec"]
    status = crd.get("status") or {}
    conditions = status.get("conditions") or [
        {
            "type": "NamesAccepted",
            "status": "True",
            "reason": "NoConflicts",
            "message": "no conflicts found",
            "lastTransitionTime": now,
        },
        {
            "type": "Established",
            "status": "True",
            "reason": "InitialNamesAccepted",
            "message": "the initial names have been accepted",
            "lastTransitionTime": now,
        },
    ]
    versions = [version["name"] for version in spec["versions"] if version.get("storage")]
    filled = {"conditions": conditions, "acceptedNames": copy.deepcopy(spec["names"]), "storedVersions": versions}
    return {**crd, "status": filled}
