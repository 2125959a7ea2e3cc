"""The Controller service, for the volumes of this agent's own node."""

from __future__ import annotations

from typing import Final

from highwater_chaos.machine.disk.volumes import SMALLEST
from highwater_operator.agent.csi import TOPOLOGY
from highwater_operator.agent.csi import csi_pb2 as csi
from highwater_operator.agent.csi.capabilities import file_system_of
from highwater_operator.agent.csi.claims import Claims, Wanted
from highwater_operator.agent.refusals import RefusalError

_OURS: Final = "csi.storage.k8s.io/"
"""Parameters of the provisioner's own."""
_RPC: Final = csi.ControllerServiceCapability.RPC


class Controller:
    """Methods are named as those of the service, and raise ``RefusalError``, ``MachineError``, ``OSError``."""

    def __init__(self, claims: Claims, node: str) -> None:
        self._claims = claims
        self._node = node

    def controller_get_capabilities(
        self, request: csi.ControllerGetCapabilitiesRequest
    ) -> csi.ControllerGetCapabilitiesResponse:
        """Volumes are made and removed, and the room for them is known."""
        del request
        kinds = (_RPC.CREATE_DELETE_VOLUME, _RPC.GET_CAPACITY)
        return csi.ControllerGetCapabilitiesResponse(
            capabilities=[csi.ControllerServiceCapability(rpc=_RPC(type=kind)) for kind in kinds]
        )

    def create_volume(self, request: csi.CreateVolumeRequest) -> csi.CreateVolumeResponse:
        """A volume on this node."""
        if request.HasField("volume_content_source"):
            raise RefusalError(400, "a volume begins empty", expected="no content source", found="one")
        if others := sorted({key for key in request.parameters if not key.startswith(_OURS)}):
            raise RefusalError(
                400, "no parameters of this class", expected=f"{_OURS}fstype", found=", ".join(others)[:300]
            )
        if request.mutable_parameters:
            raise RefusalError(400, "no mutable parameters", expected="none", found="some")
        requisite = list(request.accessibility_requirements.requisite)
        if requisite and all(one.segments.get(TOPOLOGY) != self._node for one in requisite):
            raise RefusalError(
                507,
                "a volume of this agent is on its node",
                expected=f"{TOPOLOGY}={self._node}",
                found=", ".join(sorted(one.segments.get(TOPOLOGY, "") for one in requisite))[:300],
            )
        pvc = (request.parameters.get(f"{_OURS}pvc/{part}", "") for part in ("namespace", "name"))
        size = request.capacity_range
        file_system = file_system_of(request.volume_capabilities)
        record = self._claims.create(
            Wanted(request.name, size.required_bytes, size.limit_bytes, file_system, "/".join(pvc))
        )
        volume = csi.Volume(
            volume_id=self._claims.handle(record),
            capacity_bytes=record.size_bytes,
            accessible_topology=[csi.Topology(segments={TOPOLOGY: self._node})],
        )
        return csi.CreateVolumeResponse(volume=volume)

    def delete_volume(self, request: csi.DeleteVolumeRequest) -> csi.DeleteVolumeResponse:
        """The volume and its data go."""
        self._claims.delete(given("volume_id", request.volume_id))
        return csi.DeleteVolumeResponse()

    def validate_volume_capabilities(
        self, request: csi.ValidateVolumeCapabilitiesRequest
    ) -> csi.ValidateVolumeCapabilitiesResponse:
        """Whether a volume has what is asked."""
        handle = given("volume_id", request.volume_id)
        if not request.volume_capabilities:
            raise RefusalError(400, "no capabilities", expected="one or more", found="none")
        record = self._claims.get(handle)
        try:
            file_system = file_system_of(request.volume_capabilities)
        except RefusalError as refusal:
            return csi.ValidateVolumeCapabilitiesResponse(message=str(refusal))
        if file_system != record.file_system and any(one.mount.fs_type for one in request.volume_capabilities):
            return csi.ValidateVolumeCapabilitiesResponse(message=f"the volume has {record.file_system}")
        return csi.ValidateVolumeCapabilitiesResponse(
            confirmed=csi.ValidateVolumeCapabilitiesResponse.Confirmed(
                volume_capabilities=request.volume_capabilities,
                volume_context=request.volume_context,
                parameters=request.parameters,
            )
        )

    def get_capacity(self, request: csi.GetCapacityRequest) -> csi.GetCapacityResponse:
        """Bytes that a new volume may have on this node; none on others."""
        if request.volume_capabilities:
            file_system_of(request.volume_capabilities)
        segments = request.accessible_topology.segments
        room = self._claims.room() if segments.get(TOPOLOGY, self._node) == self._node else 0
        response = csi.GetCapacityResponse(available_capacity=room)
        response.maximum_volume_size.value = room
        response.minimum_volume_size.value = min(SMALLEST.values())
        return response


def given(field: str, text: str) -> str:
    """Return what a request has in a field. Raises ``RefusalError`` (400) where it has nothing."""
    if not text:
        raise RefusalError(400, f"{field} is missing", expected=field, found="")
    return text
