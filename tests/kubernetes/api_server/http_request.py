"""What a request asks for, read from its method and path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_VERBS: Final = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class Asked:
    """One request, as authorization and fault injection see it."""

    verb: str
    """``get``, ``list``, ``watch``, ``create``, ``patch``, ``delete``; else the method of HTTP in lower case."""
    path: str
    group: str = ""
    version: str = ""
    plural: str = ""
    """Empty for what is no resource, as discovery."""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: dict[str, str] = field(default_factory=dict)
    user: str = ""
    agent: str = ""

    @property
    def resource(self) -> str:
        """As roles name it: ``pods``, ``logclusters/status``."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural

    def __str__(self) -> str:
        if not self.plural:
            return f"{self.verb} {self.path}"
        where = f" in {self.namespace}" if self.namespace else ""
        named = f" {self.name}" if self.name else ""
        return f"{self.verb} {self.resource}.{self.group or 'core'}{named}{where}"


def read(method: str, path: str, query: dict[str, str], user: str, agent: str) -> Asked:
    """Read ``/apis/<group>/<version>[/namespaces/<namespace>]/<plural>[/<name>[/<subresource>]]``."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Asked(method.lower(), path, query=query, user=user, agent=agent)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    verb = _VERBS.get(method, method.lower())
    if method == "GET":
        verb = "watch" if query.get("watch") == "true" else "get" if name else "list"
    if plural == "namespaces" and name:
        namespace = name
    return Asked(verb, path, group, version, plural, namespace, name, subresource, query, user, agent)
