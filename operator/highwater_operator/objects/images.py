"""Images of a cluster's pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from highwater_operator.objects.naming import Owner, Role


@dataclass(frozen=True)
class Images:
    """The operator's defaults: ``node`` is a broker or controller."""

    node: str = "highwater/node:0.2.0"
    zookeeper: str = "highwater/zookeeper:0.2.0"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Images:
        """``HIGHWATER_NODE_IMAGE``, ``HIGHWATER_ZOOKEEPER_IMAGE``."""
        return cls(
            environment.get("HIGHWATER_NODE_IMAGE") or cls.node,
            environment.get("HIGHWATER_ZOOKEEPER_IMAGE") or cls.zookeeper,
        )

    def of(self, owner: Owner, role: Role) -> str:
        """The image of a role's pods: the resource's, or the default."""
        if role == "zookeeper":
            return owner.spec.zookeeper_image or self.zookeeper
        return owner.spec.image or self.node
