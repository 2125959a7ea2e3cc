"""A CSI driver over the agent's volumes: claims of the StorageClass ``highwater-crashable``.

Volumes are local, so there is no central controller: each agent serves the Controller service for its own node beside
the Node service, and upstream's ``external-provisioner`` runs beside each agent (``--node-deployment``). The kubelet
learns the socket from upstream's ``node-driver-registrar``. There is no staging: a volume is mounted once, in the
agent's folder, for as long as it exists, and publishing mounts its data directory where the kubelet wants it.

Only the agent's main module imports this, and only if it is asked for: gRPC takes memory and time to start.

``csi.binpb`` is the serialized ``FileDescriptorProto`` of the published ``csi.proto`` of Container Storage Interface
1.11 (Apache License 2.0, Copyright The Kubernetes Authors and the CSI authors).
"""

from __future__ import annotations

from typing import Final

DRIVER: Final = "csi.highwater.dev"
TOPOLOGY: Final = "highwater.dev/node"
"""The segment of a volume's topology: the name of its node."""
