"""What a node process runs: a broker of KRaft mode, a broker of ZooKeeper mode, or a controller.

One module a role. A process imports its own role alone: those of all three cost a third of a start.
"""

from __future__ import annotations

from highwater_runtime.host.config.file import NodeSettings
from highwater_runtime.host.roles.role import Role, partitions_in

__all__ = ["Role", "partitions_in", "role_of"]


def role_of(settings: NodeSettings) -> Role:
    """Return the role that the settings of a node name."""
    if settings.role == "controller":
        from highwater_runtime.host.roles.controller import ControllerRole  # noqa: PLC0415 - this role alone

        return ControllerRole()
    if settings.zookeepers:
        from highwater_runtime.host.roles.zookeeper_broker import ZooKeeperBrokerRole  # noqa: PLC0415 - this role alone

        return ZooKeeperBrokerRole()
    from highwater_runtime.host.roles.kraft_broker import KraftBrokerRole  # noqa: PLC0415 - this role alone

    return KraftBrokerRole()
