"""The Node service, for the kubelet, and the Identity service."""

from __future__ import annotations

from highwater_operator.agent.csi import DRIVER, TOPOLOGY
from highwater_operator.agent.csi import csi_pb2 as csi
from highwater_operator.agent.csi.capabilities import file_system_of
from highwater_operator.agent.csi.claims import Claims, Usage
from highwater_operator.agent.csi.controller import given
from highwater_operator.agent.refusals import RefusalError


class Identity:
    """Who the driver is."""

    def __init__(self, version: str) -> None:
        self._version = version

    def get_plugin_info(self, request: csi.GetPluginInfoRequest) -> csi.GetPluginInfoResponse:
        del request
        return csi.GetPluginInfoResponse(name=DRIVER, vendor_version=self._version)

    def get_plugin_capabilities(self, request: csi.GetPluginCapabilitiesRequest) -> csi.GetPluginCapabilitiesResponse:
        """A Controller service, and volumes that are on one node each."""
        del request
        service = csi.PluginCapability.Service
        kinds = (service.CONTROLLER_SERVICE, service.VOLUME_ACCESSIBILITY_CONSTRAINTS)
        return csi.GetPluginCapabilitiesResponse(
            capabilities=[csi.PluginCapability(service=service(type=kind)) for kind in kinds]
        )

    def probe(self, request: csi.ProbeRequest) -> csi.ProbeResponse:
        """It is ready when it answers."""
        del request
        response = csi.ProbeResponse()
        response.ready.value = True
        return response


class Node:
    """Methods are named as those of the service, and raise ``RefusalError``, ``MachineError``, ``OSError``."""

    def __init__(self, claims: Claims, node: str) -> None:
        self._claims = claims
        self._node = node

    def node_get_info(self, request: csi.NodeGetInfoRequest) -> csi.NodeGetInfoResponse:
        """The node's name, which is its topology too."""
        del request
        topology = csi.Topology(segments={TOPOLOGY: self._node})
        return csi.NodeGetInfoResponse(node_id=self._node, accessible_topology=topology)

    def node_get_capabilities(self, request: csi.NodeGetCapabilitiesRequest) -> csi.NodeGetCapabilitiesResponse:
        """Volumes are published without staging; how full they are is known."""
        del request
        rpc = csi.NodeServiceCapability.RPC
        return csi.NodeGetCapabilitiesResponse(
            capabilities=[csi.NodeServiceCapability(rpc=rpc(type=rpc.GET_VOLUME_STATS))]
        )

    def node_publish_volume(self, request: csi.NodePublishVolumeRequest) -> csi.NodePublishVolumeResponse:
        """The volume's data are at the target."""
        handle, target = given("volume_id", request.volume_id), given("target_path", request.target_path)
        if not request.HasField("volume_capability"):
            raise RefusalError(400, "volume_capability is missing", expected="volume_capability", found="")
        wanted, record = file_system_of([request.volume_capability]), self._claims.get(handle)
        if request.volume_capability.mount.fs_type and wanted != record.file_system:
            raise RefusalError(400, "another file system", expected=record.file_system, found=wanted)
        self._claims.publish(handle, target, read_only=request.readonly)
        return csi.NodePublishVolumeResponse()

    def node_unpublish_volume(self, request: csi.NodeUnpublishVolumeRequest) -> csi.NodeUnpublishVolumeResponse:
        """Nothing is at the target."""
        self._claims.unpublish(given("volume_id", request.volume_id), given("target_path", request.target_path))
        return csi.NodeUnpublishVolumeResponse()

    def node_get_volume_stats(self, request: csi.NodeGetVolumeStatsRequest) -> csi.NodeGetVolumeStatsResponse:
        handle, path = given("volume_id", request.volume_id), given("volume_path", request.volume_path)
        size, inodes = self._claims.usage(handle, path)
        unit = csi.VolumeUsage
        return csi.NodeGetVolumeStatsResponse(usage=[_usage(size, unit.BYTES), _usage(inodes, unit.INODES)])


def _usage(found: Usage, unit: csi.VolumeUsage.Unit) -> csi.VolumeUsage:
    return csi.VolumeUsage(total=found.total, available=found.available, used=found.used, unit=unit)
