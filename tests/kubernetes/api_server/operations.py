"""What can be done to objects: the steps of a write, and how objects end.

A write is decoded, pruned, given defaults, validated, counted as a generation, noted in ``managedFields``, and stored.
What an owner leaves behind is deleted in the same step; a real server does it a moment later.
"""

from __future__ import annotations

import datetime
import random
import uuid
from dataclasses import dataclass, field
from typing import Any, Final

from . import apply as server_side_apply
from . import built_in, cel_rules, errors, schema
from .apply import Manager
from .errors import FieldError, Json
from .kinds import CRDS, JOBS, NAMESPACES, PODS, Kind, Registry, Table
from .store import Name, Store, Stored, encode

_LARGEST: Final = 1_572_864
"""Bytes of an object that etcd takes."""
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
APPLY: Final = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Write:
    """Who writes, and what is asked for besides."""

    manager: str = "unknown"
    strict: bool = False
    """Unknown fields are refused, not dropped with a warning."""
    force: bool = False
    trusted: bool = False
    """By the miniature cluster: neither validated nor noted in ``managedFields``."""
    warnings: list[str] = field(default_factory=list)
    """Filled with what the client is to be told."""


def now_text() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null takes away, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


class Operations:
    """The verbs, for HTTP, for the miniature cluster, and for tests that prepare a state."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self.store = store
        self.registry = registry

    def stored(self, kind: Kind, namespace: str, name: str) -> Stored:
        """Raises ApiError (404)."""
        found = self.store.get(kind.table, (namespace if kind.namespaced else "", name))
        if found is None:
            raise errors.not_found(kind.group, kind.plural, name)
        return found

    # --- writing ---

    def create(self, kind: Kind, namespace: str, sent: Json, write: Write) -> Json:
        sent = self._decoded(kind, namespace, "", sent, write)
        with self.store.lock:
            return self._create(kind, namespace, sent, write)

    def patch(
        self, kind: Kind, namespace: str, name: str, media_type: str, body: Any, write: Write, subresource: str = ""
    ) -> tuple[Json, bool]:
        """Return the object, and whether it is new: only server-side apply makes objects."""
        if not isinstance(body, dict):
            raise errors.bad_request("error decoding patch: expected an object")
        with self.store.lock:
            if media_type == APPLY:
                return self._apply(kind, namespace, name, body, write, subresource)
            if media_type != MERGE:
                raise errors.ApiError(415, "UnsupportedMediaType", f"accepted: {MERGE}, {APPLY} (found {media_type})")
            live = self.stored(kind, namespace, name).obj
            sent = self._decoded(kind, namespace, name, merge_patch(live, body), write)
            return self._update(kind, live, sent, write, subresource), False

    def _apply(
        self, kind: Kind, namespace: str, name: str, config: Json, write: Write, subresource: str
    ) -> tuple[Json, bool]:
        config = self._decoded(kind, namespace, name, config, write)
        if subresource:
            config = {key: value for key, value in config.items() if key != "spec"}
        elif "status" in kind.subresources:
            config.pop("status", None)
        manager, found = Manager(write.manager, "Apply", subresource), self.store.get(kind.table, (namespace, name))
        live = {} if found is None else found.obj
        if "resourceVersion" in config["metadata"]:
            self._check_version(kind, live, config)
        new = server_side_apply.apply(kind.schema, live, config, manager, now_text(), force=write.force)
        if found is None and not subresource:
            return self._create(kind, namespace, new, write, applied=True), True
        live = self.stored(kind, namespace, name).obj
        return self._update(kind, live, new, write, subresource, applied=True), False

    # --- the steps of a write ---

    def _decoded(self, kind: Kind, namespace: str, name: str, sent: Any, write: Write) -> Json:
        """Of the right kind and place, without fields that are not known. Raises ApiError (400)."""
        if not isinstance(sent, dict):
            raise errors.bad_request("the object provided is unrecognized (must be of type Object)")
        metadata = dict(sent.get("metadata") or {})
        place = {"name": name} if name else {}
        place |= {"namespace": namespace} if kind.namespaced else {}
        said = {"apiVersion": sent.get("apiVersion"), "kind": sent.get("kind")} | {
            key: metadata.get(key) for key in place
        }
        wanted = {"apiVersion": kind.api_version, "kind": kind.kind, **place}
        for key, value in wanted.items():
            if said[key] not in (None, value):
                raise errors.bad_request(f"the {key} of the object ({said[key]}) does not match the request ({value})")
        obj = sent | {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata | place}
        if write.trusted:
            return obj
        dropped: list[str] = []
        obj = schema.prune(kind.schema, obj, "", dropped)
        if dropped and write.strict:
            unknown = ", ".join(f'unknown field "{path}"' for path in dropped)
            raise errors.bad_request(f"{self._not_a(kind)}: strict decoding error: {unknown}")
        write.warnings.extend(f'unknown field "{path}"' for path in dropped)
        return obj if kind.custom else _without_nulls(obj)

    @staticmethod
    def _not_a(kind: Kind) -> str:
        return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'

    def _create(self, kind: Kind, namespace: str, sent: Json, write: Write, *, applied: bool = False) -> Json:
        metadata = sent["metadata"]
        name = metadata.get("name") or metadata["generateName"] + "".join(random.choices(_LETTERS, k=5))
        key = (namespace if kind.namespaced else "", name)
        if kind.namespaced and self.store.get(NAMESPACES, ("", namespace)) is None:
            raise errors.not_found("", "namespaces", namespace)
        if self.store.get(kind.table, key) is not None:
            raise errors.about(409, "AlreadyExists", kind.group, kind.plural, name, "{} already exists")
        kept = {one: value for one, value in metadata.items() if one not in (*_SYSTEM_FIELDS, "resourceVersion")}
        own: Json = {"name": name, **({"namespace": namespace} if kind.namespaced else {})}
        own |= {"uid": str(uuid.uuid4()), "creationTimestamp": now_text()}
        own |= {"generation": 1} if kind.has_generation else {}
        obj = {key: value for key, value in sent.items() if key != "status" or "status" not in kind.subresources}
        obj = self._defaulted(kind, obj | {"metadata": own | kept})
        if not write.trusted:
            self._validate(kind, obj, None)
            if not applied and kind.table != CRDS:
                manager = Manager(write.manager, "Update")
                obj = server_side_apply.update(kind.schema, {}, obj, manager, kind.api_version, now_text())
        made = self._commit(kind, key, obj)
        self._collect(kind.table, key)
        return made

    def _defaulted(self, kind: Kind, obj: Json) -> Json:
        if not kind.custom:
            return built_in.with_defaults(kind.table, obj)
        filled: Json = schema.with_defaults(kind.schema, obj)
        return filled

    def _validate(self, kind: Kind, new: Json, old: Json | None) -> None:
        problems = built_in.check_metadata(kind, new["metadata"])
        if kind.table != CRDS:
            problems += schema.check(kind.schema, new, old)
        wrong = [one for one in problems if one.reason == "FieldValueTypeInvalid"]
        if wrong and not kind.custom:
            found = wrong[0].message.rpartition(" ")[2].strip('"')
            detail = f"json: cannot unmarshal {found} into Go struct field {wrong[0].field}"
            raise errors.bad_request(f"{self._not_a(kind)}: {detail}")
        if not kind.custom:
            problems += built_in.check(kind.table, new, old)
        elif any(one.reason in _BLOCKING for one in problems):
            problems.append(_UNCHECKED)
        else:
            problems += cel_rules.check(kind.schema, new, old)
        if problems:
            raise errors.invalid(kind.group, kind.kind, new["metadata"]["name"], problems)

    def _check_version(self, kind: Kind, live: Json, new: Json) -> None:
        """Raises ApiError: 409 if the writer has seen another version, 422 if it means another object."""
        found, sent, name = live.get("metadata", {}), new["metadata"], new["metadata"]["name"]
        if sent.get("resourceVersion") not in (None, "", found.get("resourceVersion")):
            raise errors.conflict(kind.group, kind.plural, name)
        if sent.get("uid") not in (None, "", found.get("uid")):
            immutable = errors.invalid_value("metadata.uid", sent["uid"], "field is immutable")
            raise errors.invalid(kind.group, kind.kind, name, [immutable])

    def _update(
        self, kind: Kind, live: Json, new: Json, write: Write, subresource: str, *, applied: bool = False
    ) -> Json:
        self._check_version(kind, live, new)
        before, sent = live["metadata"], new["metadata"]
        if subresource == "status":
            managed = {"managedFields": sent["managedFields"]} if "managedFields" in sent else {}
            status = {"status": new["status"]} if "status" in new else {}
            new = {key: value for key, value in live.items() if key != "status"} | status
            new["metadata"] = before | managed
        else:
            kept = {key: before[key] for key in _SYSTEM_FIELDS if key in before}
            given = {key: value for key, value in sent.items() if key not in _SYSTEM_FIELDS and value not in ([], {})}
            new = new | {"metadata": given | kept}
            if "status" in kind.subresources:
                new.pop("status", None)
                new |= {"status": live["status"]} if "status" in live else {}
        new = self._defaulted(kind, new)
        self._check_finalizers(kind, before, new["metadata"])
        if "generation" in before and _bare(live) != _bare(new):
            new["metadata"] = new["metadata"] | {"generation": before["generation"] + 1}
        if live != new:
            self._validate(kind, new, live)
        if not applied:
            manager = Manager(write.manager, "Update", subresource)
            new = server_side_apply.update(kind.schema, live, new, manager, kind.api_version, now_text())
        new = server_side_apply.without_a_change_of_times(live, new)
        return self._commit(kind, (before.get("namespace", ""), before["name"]), new)

    @staticmethod
    def _check_finalizers(kind: Kind, before: Json, after: Json) -> None:
        added = set(after.get("finalizers") or ()) - set(before.get("finalizers") or ())
        if before.get("deletionTimestamp") and added:
            detail = f"no new finalizers can be added if the object is being deleted, found new: {sorted(added)}"
            problem = errors.forbidden_field("metadata.finalizers", detail)
            raise errors.invalid(kind.group, kind.kind, before["name"], [problem])

    def _commit(self, kind: Kind, key: Name, obj: Json) -> Json:
        if kind.table == CRDS:
            obj = built_in.established(obj, now_text())
            self.registry.define(obj)
        elif len(encode(obj)) > _LARGEST:
            raise errors.ApiError(500, "", "etcdserver: request is too large")
        stored, metadata = self.store.put(kind.table, key, obj), obj["metadata"]
        if (
            metadata.get("deletionTimestamp")
            and not metadata.get("finalizers")
            and not metadata.get("deletionGracePeriodSeconds")
        ):
            self._remove(kind, key)
        return stored.obj

    # --- ends ---

    def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        grace: int | None = None,
        uid: str | None = None,
        propagation: str | None = "Background",
    ) -> tuple[Json, bool]:
        """Return the object as it was at last, and whether it is gone already: it may wait for finalizers or time."""
        with self.store.lock:
            obj = self.stored(kind, namespace, name).obj
            metadata, key = obj["metadata"], (namespace if kind.namespaced else "", name)
            if uid not in (None, "", metadata["uid"]):
                detail = (
                    f"the UID in the precondition ({uid}) does not match the UID in record ({metadata['uid']})."
                    " The object might have been deleted and then recreated"
                )
                raise errors.conflict(kind.group, kind.kind, name, detail)
            if kind.table == JOBS and propagation != "Background":
                self._orphan(metadata["uid"])  # the default of Jobs, as ever
            seconds = _grace(kind.table, obj, grace)
            if not metadata.get("finalizers") and not seconds:
                self._remove(kind, key)
                return obj, True
            if "deletionTimestamp" not in metadata:
                moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
                metadata = metadata | {"deletionTimestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}
                metadata |= {"generation": metadata["generation"] + 1} if "generation" in metadata else {}
            ending = obj | {"metadata": metadata | {"deletionGracePeriodSeconds": seconds}}
            return self.store.put(kind.table, key, ending).obj, False

    def _remove(self, kind: Kind, key: Name) -> None:
        last = self.store.remove(kind.table, key)
        if last is not None and kind.table == CRDS:
            self.registry.undefine(last)
        for table, name in self.store.dependents(last["metadata"]["uid"]) if last is not None else ():
            self._collect(table, name)

    def _collect(self, table: Table, key: Name) -> None:
        """Delete an object of whose owners none is left; take references to owners that are gone away."""
        found = self.store.get(table, key)
        references = found.obj["metadata"].get("ownerReferences", []) if found is not None else []
        left = [one for one in references if self.store.exists(one["uid"])]
        if found is None or len(left) == len(references):
            return
        if left:
            self._set_owners(table, key, found.obj, left)
        elif "deletionTimestamp" not in found.obj["metadata"]:
            self.delete(self.registry.of_table(table), *key)

    def _orphan(self, uid: str) -> None:
        for table, key in self.store.dependents(uid):
            found = self.store.get(table, key)
            if found is not None:
                left = [one for one in found.obj["metadata"]["ownerReferences"] if one["uid"] != uid]
                self._set_owners(table, key, found.obj, left)

    def _set_owners(self, table: Table, key: Name, obj: Json, references: list[Json]) -> None:
        metadata = {name: value for name, value in obj["metadata"].items() if name != "ownerReferences"}
        metadata |= {"ownerReferences": references} if references else {}
        self.store.put(table, key, obj | {"metadata": metadata})


_BLOCKING: Final = (
    "FieldValueRequired",
    "FieldValueNotSupported",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
_UNCHECKED: Final = FieldError(
    "FieldValueInvalid",
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def _grace(table: Table, obj: Json, asked: int | None) -> int:
    """Seconds until the end: only pods on a node get time, and never more than they were given before."""
    ended = obj.get("status", {}).get("phase") in ("Succeeded", "Failed")
    if table != PODS or not obj["spec"].get("nodeName") or ended:
        return 0
    wanted = int(obj["spec"].get("terminationGracePeriodSeconds", 30) if asked is None else asked)
    return min(wanted, obj["metadata"].get("deletionGracePeriodSeconds", wanted))


def _without_nulls(value: Any) -> Any:
    """Built-in types do not tell null from absent."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _bare(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}
