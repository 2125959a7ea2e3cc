"""What the harness and a process of clients say to each other.

A process gets the path of its :class:`ProcessSettings` (JSON) as its only argument. It appends what its clients do to
the history file named there, each line before whatever it announces leaves. So the history does not pass through the
harness, which hears only how the clients stand: a :class:`~highwater_chaos.workload.client_group.ClientStatus` as a
line of JSON on stdout, a few times a second, when something has changed, and after what it speaks of is in the file.

On stdin it hears ``finish ROLE …``: let the clients of these roles begin nothing new; and :data:`END`: write what is to
be written, exit 0. The end of its stdin means that the harness is gone: exit at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from highwater_chaos.workload.client_group import ROLES, ClientSettings, ClientStatus, Role

HARNESS_GONE: Final = 3
"""Exit status of a process whose stdin ended."""
TELL_EVERY_NS: Final = 50_000_000
END: Final = b"end\n"
_FINISH: Final = b"finish "


class ProcessSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One process. ``origin_ns``: when run time began, on CLOCK_MONOTONIC; ``seed``: the run's. ``negotiates``: our own
    clients ask each server for its versions, since it is not of ours. ``client_config``: a file of Kafka's client
    properties by which servers are met (its path alone: no secret is written down); empty: as they are.
    ``controllers_config``: the same for controllers; empty: as brokers."""

    history: str
    origin_ns: int
    seed: int
    negotiates: bool = False
    client_config: str = ""
    controllers_config: str = ""
    clients: ClientSettings


def finish_line(roles: Sequence[Role]) -> bytes:
    """The line that lets these roles finish."""
    return _FINISH + " ".join(roles).encode() + b"\n"


def roles_of(line: bytes) -> list[Role]:
    """The roles that a line lets finish; none where it says something else."""
    words = line.removeprefix(_FINISH).decode().split() if line.startswith(_FINISH) else []
    return [role for role in ROLES if role in words]


encode_settings = msgspec.json.Encoder().encode
decode_settings = msgspec.json.Decoder(ProcessSettings).decode
encode_status = msgspec.json.Encoder().encode
decode_status = msgspec.json.Decoder(ClientStatus).decode
