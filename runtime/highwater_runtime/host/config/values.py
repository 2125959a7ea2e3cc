"""What values in a configuration file look like: each function parses one form, or says why a text is not of it.

A plain ``ValueError`` leaves it at what was expected; a :class:`ReasonError` adds why.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from time import time_ns
from typing import Final

from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports import Endpoint
from highwater_runtime.switches import Switches

INT32_MAX: Final = 2**31 - 1
_ADDRESS: Final = re.compile(r"(?:([A-Za-z0-9_.-]+)://)?(\[[0-9a-fA-F:.]+\]|[^:\[\]/@]*):(\d+)")


class ReasonError(ValueError):
    """A value that is wrong for a reason worth telling."""


def entries(text: str) -> list[str]:
    """The entries of a list separated by commas."""
    return [entry for part in text.split(",") if (entry := part.strip())]


def name_text(text: str) -> str:
    """A text that is not empty."""
    if not text:
        raise ReasonError("it is empty")
    return text


def optional_text(text: str) -> str | None:
    """A text that is not empty, where none need be given."""
    return name_text(text)


def path_value(text: str) -> Path | None:
    """A path."""
    return Path(name_text(text))


def one_of(*words: str) -> Callable[[str], str]:
    """A parser of exactly these words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return parse


def integer(least: int, most: int) -> tuple[str, Callable[[str], int]]:
    """What is expected, and a parser of a whole number from ``least`` to ``most``."""

    def parse(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return f"a whole number between {least} and {most}", parse


def incarnation_of(text: str) -> int:
    """Return the incarnation: a whole number from 1, or ms since the epoch for ``clock``, if nothing counts starts.

    Each start needs another number: a broker that registers as the same incarnation is taken for one that never ended.
    """
    value = time_ns() // 1_000_000 if text == "clock" else int(text)
    if not 1 <= value < 2**63:
        raise ValueError(text)
    return value


def address_of(text: str) -> tuple[str | None, Endpoint]:
    """``host:port`` or ``name://host:port``: the name, if any, and the endpoint. IPv6 hosts stand in brackets."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise ReasonError(f"{text!r} is not of that form")
    port = int(match[3])
    if port > 65535:
        raise ReasonError(f"there is no port {port}")
    return match[1], Endpoint(match[2].strip("[]"), port)


def named_endpoints(text: str) -> dict[str, Endpoint]:
    """``NAME://host:port``, separated by commas: endpoints by name in capitals, in order."""
    found: dict[str, Endpoint] = {}
    for entry in entries(text):
        name, endpoint = address_of(entry)
        if name is None:
            raise ReasonError(f"{entry!r} has no name")
        if name.upper() in found:
            raise ReasonError(f"{name} comes twice")
        found[name.upper()] = endpoint
    if not found:
        raise ReasonError("there is none")
    return found


def voters_of(text: str) -> dict[int, Endpoint]:
    """``id@host:port``, separated by commas: endpoints by node id."""
    found: dict[int, Endpoint] = {}
    for entry in entries(text):
        node, at, address = entry.partition("@")
        if not at or not node.isdigit():
            raise ReasonError(f"{entry!r} is not of that form")
        _, endpoint = address_of(address)
        if not endpoint.host or not endpoint.port:
            raise ReasonError(f"{entry!r} must name a host and a port")
        if int(node) > INT32_MAX:
            raise ReasonError(f"an id is at most {INT32_MAX}, not {node}")
        if int(node) in found:
            raise ReasonError(f"id {node} comes twice")
        if endpoint in found.values():
            raise ReasonError(f"{endpoint} comes twice")
        found[int(node)] = endpoint
    if not found:
        raise ReasonError("there is none")
    return found


def servers_of(text: str) -> tuple[Endpoint, ...]:
    """``host:port`` of each ZooKeeper server, separated by commas."""
    if "/" in text:
        raise ReasonError("a path behind the servers (chroot) is not supported")
    found: dict[Endpoint, None] = {}
    for entry in entries(text):
        name, endpoint = address_of(entry)
        if name is not None or not endpoint.host or not endpoint.port:
            raise ReasonError(f"{entry!r} must name a host and a port")
        if endpoint in found:
            raise ReasonError(f"{entry} comes twice")
        found[endpoint] = None
    if not found:
        raise ReasonError("there is none")
    return tuple(found)


def one_directory(text: str) -> Path:
    """The one directory of a list of directories."""
    directories = entries(text)
    if len(directories) != 1:
        raise ReasonError("several directories are not supported" if directories else "there is none")
    return Path(directories[0])


def cluster_id_text(text: str) -> str:
    """A cluster id: 22 characters of URL-safe base64."""
    if len(text) != 22 or not re.fullmatch(r"[A-Za-z0-9_-]+", text):
        raise ReasonError(f"it has {len(text)} characters" if len(text) != 22 else "only letters, digits, - and _")
    return text


def switches_of(text: str) -> Switches:
    """``switch=value``, separated by commas. Raises ``SwitchError`` too."""
    pairs: dict[str, str] = {}
    for entry in entries(text):
        name, separator, value = entry.partition("=")
        if not separator:
            raise ReasonError(f"{entry!r} has no value")
        pairs[name.strip()] = value.strip()
    return Switches.of(pairs)


def metadata_version(text: str) -> MetadataVersion:
    """A level of ``metadata.version`` by name or number."""
    try:
        return MetadataVersion.of(text)
    except ValueError as error:
        raise ReasonError(str(error)) from error


def http_endpoint(text: str) -> Endpoint | None:
    """``http://host:port``."""
    scheme, endpoint = address_of(text)
    if scheme != "http":
        raise ReasonError("only http is served")
    return endpoint
