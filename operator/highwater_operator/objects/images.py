"""Images of a cluster's pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from highwater_operator.objects.naming import Owner, Role


@dataclass(frozen=True)
class Images:
    """The operator's defaults: ``node`` is a broker or controller; that of ``apache_kafka`` ends with the release."""

    node: str = "highwater/node:0.2.0"
    zookeeper: str = "highwater/zookeeper:0.2.0"
    apache_kafka: str = "highwater/apache-kafka:0.2.0"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Images:
        """``HIGHWATER_NODE_IMAGE``, ``HIGHWATER_ZOOKEEPER_IMAGE``, ``HIGHWATER_APACHE_KAFKA_IMAGE``."""
        return cls(
            environment.get("HIGHWATER_NODE_IMAGE") or cls.node,
            environment.get("HIGHWATER_ZOOKEEPER_IMAGE") or cls.zookeeper,
            environment.get("HIGHWATER_APACHE_KAFKA_IMAGE") or cls.apache_kafka,
        )

    def of(self, owner: Owner, role: Role) -> str:
        """The image of a role's pods: the resource's, or the default."""
        if role == "zookeeper":
            return owner.spec.zookeeper_image or self.zookeeper
        release = owner.spec.kafka
        return owner.spec.image or (self.node if release is None else f"{self.apache_kafka}-kafka-{release}")
