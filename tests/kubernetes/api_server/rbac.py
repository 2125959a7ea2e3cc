"""Who may do what: roles are checked as Kubernetes does, and every request is noted.

A token stands for a user with rules; a client without a token may do everything. From the notes a test proves that the
rules which are shipped suffice, and grant nothing that is not needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from .errors import ApiError, Json, about
from .http_request import Asked

_UNRESTRICTED: Final = "system:admin"
_RBAC: Final = "rbac.authorization.k8s.io/v1"


@dataclass(frozen=True)
class Grant:
    """Rules in one namespace, or (with none) in all and for what has none."""

    rules: Sequence[Json]
    namespace: str = ""


@dataclass
class User:
    """Who a token stands for."""

    name: str
    grants: list[Grant] = field(default_factory=list)
    bound: Callable[[], list[Grant] | None] = list
    """What bindings among the server's objects give it now; None: its account is gone, and its tokens with it."""
    asked: list[Asked] = field(default_factory=list)
    """Every request, allowed or not."""
    refused: list[Asked] = field(default_factory=list)


def _uses(asked: Asked, verb: str, group: str, resource: str) -> bool:
    return (
        verb in (asked.verb, "*")
        and group in (asked.group, "*")
        and resource in ("*", asked.resource, f"*/{asked.subresource}")
    )


def allowed(rules: Iterable[Json], asked: Asked) -> bool:
    """Whether any rule (a ``PolicyRule``) allows a request."""
    return any(
        _uses(asked, verb, group, resource) and asked.name in rule.get("resourceNames", [asked.name])
        for rule in rules
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
    )


_DISCOVERY: Final = ("/api", "/version")


class Authorizer:
    """Tokens and what they may do."""

    def __init__(self) -> None:
        self._users: dict[str, User] = {}
        self._lock = threading.Lock()
        self.everyone = User(_UNRESTRICTED)
        """Whoever comes without a token."""

    def add_user(self, token: str, name: str, grants: Iterable[Grant]) -> User:
        """From now on whoever shows the token may do what is granted and no more."""
        user = self._users[token] = User(name, list(grants))
        return user

    def add_manifests(self, token: str, service_account: str, manifests: Iterable[Json]) -> User:
        """A ServiceAccount (``namespace/name``) with the roles that bindings among the manifests give it."""
        objs = list(manifests)
        namespace, _, name = service_account.partition("/")
        grants = _grants(objs, namespace, name)
        if not grants:
            raise ValueError(f"no binding among the manifests gives ServiceAccount {service_account} anything")
        return self.add_user(token, f"system:serviceaccount:{namespace}:{name}", grants)

    def add_account(self, token: str, service_account: str, objects: Callable[[str, str], list[Json]]) -> User:
        """A ServiceAccount with the roles that the server's own bindings give it at each request.

        Args:
            objects: all objects of a kind, by its ``apiVersion`` and name.
        """
        namespace, _, name = service_account.partition("/")

        def bound() -> list[Grant] | None:
            there = {(one["metadata"]["namespace"], one["metadata"]["name"]) for one in objects("v1", "ServiceAccount")}
            if (namespace, name) not in there:
                return None
            kinds = ("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")
            return _grants([one for kind in kinds for one in objects(_RBAC, kind)], namespace, name)

        user = self._users[token] = User(f"system:serviceaccount:{namespace}:{name}", bound=bound)
        return user

    def check_binding(self, user: User, binding: Json, role: Json | None) -> None:
        """Nobody may give away more than they have, but roles that they may ``bind``. Raises ApiError (403)."""
        reference = binding["roleRef"]
        own = binding["metadata"].get("namespace", "")
        plural = f"{reference['kind'].lower()}s"
        bind = Asked("bind", "", reference["apiGroup"], plural=plural, namespace=own, name=reference["name"])
        given = [
            Asked(
                verb,
                "",
                group,
                plural=resource.partition("/")[0],
                namespace=own,
                subresource=resource.partition("/")[2],
            )
            for rule in (role or {}).get("rules") or ()
            for verb in rule["verbs"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
        ]
        if self._may(user, bind):
            with self._lock:
                user.asked.append(bind)
        elif role is None or not all(self._may(user, one) for one in given):
            with self._lock:
                user.refused.append(bind)
            raise _refusal(user, bind)

    def user(self, token: str) -> User:
        """Raises ApiError (401) for a token that is not known."""
        found = self._users.get(token) if token else self.everyone
        if found is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        return found

    def check(self, user: User, asked: Asked, verb: str | None = None) -> None:
        """Note the request, as if with another ``verb`` if one is given. Raises ApiError (403) if it is not allowed."""
        asked = asked if verb is None else replace(asked, verb=verb)
        if user.bound() is None:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        with self._lock:
            user.asked.append(asked)
        if self._may(user, asked):
            return
        with self._lock:
            user.refused.append(asked)
        raise _refusal(user, asked)

    def review(self, user: User, sent: Json) -> Json:
        """A SelfSubjectAccessReview, answered: everybody may ask."""
        what = sent["spec"]["resourceAttributes"]
        asked = Asked(
            what["verb"],
            "",
            what.get("group", ""),
            plural=what["resource"],
            namespace=what.get("namespace", ""),
            name=what.get("name", ""),
            subresource=what.get("subresource", ""),
        )
        return {**sent, "status": {"allowed": self._may(user, asked)}}

    def _may(self, user: User, asked: Asked) -> bool:
        if user is self.everyone or (not asked.plural and asked.path.startswith(_DISCOVERY)):
            return True
        rules = [
            rule
            for grant in (*user.grants, *(user.bound() or ()))
            if not grant.namespace or grant.namespace == asked.namespace
            for rule in grant.rules
        ]
        return allowed(rules, asked)


def _grants(objs: list[Json], namespace: str, name: str) -> list[Grant]:
    """What the bindings among the objects give a ServiceAccount."""
    grants = []
    for binding in objs:
        if binding.get("kind") not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        own = binding["metadata"].get("namespace", namespace) if binding["kind"] == "RoleBinding" else ""
        if not any(
            subject.get("kind") == "ServiceAccount"
            and subject.get("name") == name
            and subject.get("namespace", own) == namespace
            for subject in binding.get("subjects") or ()
        ):
            continue
        grants.append(Grant(_role(objs, binding, own)["rules"], own))
    return grants


def _role(objs: list[Json], binding: Json, namespace: str) -> dict[str, Any]:
    reference = binding["roleRef"]
    for obj in objs:
        if obj.get("kind") != reference["kind"] or obj["metadata"]["name"] != reference["name"]:
            continue
        if obj["kind"] == "ClusterRole" or obj["metadata"].get("namespace", namespace) == namespace:
            return obj
    raise ValueError(f"{binding['kind']} {binding['metadata']['name']} refers to {reference}, which is not there")


def _refusal(user: User, asked: Asked) -> ApiError:
    where = f' in the namespace "{asked.namespace}"' if asked.namespace else " at the cluster scope"
    detail = f'User "{user.name}" cannot {asked.verb} resource "{asked.resource}" in API group "{asked.group}"{where}'
    return about(403, "Forbidden", asked.group, asked.plural, asked.name, "{} is forbidden: " + detail)
