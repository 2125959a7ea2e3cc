"""On which nodes there are agents: only there a pod gets a crashable volume."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_SELECTOR: Final = "HIGHWATER_AGENT_NODE_SELECTOR"
_TOLERATIONS: Final = "HIGHWATER_AGENT_TOLERATIONS"


@dataclass(frozen=True)
class AgentNodes:
    """As the agents' pods have it. No ``selector``: they are on every node on which other pods can be."""

    selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> AgentNodes:
        """``HIGHWATER_AGENT_NODE_SELECTOR``, ``…_TOLERATIONS`` (both JSON).

        Raises:
            ValueError: one of them is not what it can be.
        """
        return cls(_read(environment, _SELECTOR, dict), tuple(_read(environment, _TOLERATIONS, list)))

    def placement(self) -> dict[str, Any]:
        """What brings a pod to these nodes."""
        if not self.selector:
            return {}
        tolerations = {"tolerations": [dict(one) for one in self.tolerations]} if self.tolerations else {}
        return {"nodeSelector": dict(self.selector), **tolerations}


EVERYWHERE: Final = AgentNodes({})


def _read(environment: Mapping[str, str], name: str, kind: type[Any]) -> Any:
    text = environment.get(name)
    if not text:
        return kind()
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name}: expected JSON, found {text!r}: {error}") from None
    if not isinstance(found, kind):
        raise ValueError(f"{name}: expected a JSON {'object' if kind is dict else 'array'}, found {text!r}")
    return found
