"""Releases of Apache Kafka and its metadata versions: their order, conditions on them, and what is known of each.

A release is ``3.4.1``, a metadata version ``3.4-IV0`` or ``3.4`` (the last of that release, as Kafka's tools take it).
A condition compares with one of them or with the beginning of one: ``<3.5`` is everything below 3.5, ``==3.4`` (or
``3.4``) every 3.4.x, ``>3.4`` 3.5 and later. Several, by commas, must all hold: ``>=3.3,<3.5``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Parts = tuple[int, ...]
Mode = Literal["kraft", "zookeeper"]

_RELEASE: Final = re.compile(r"(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})")
_METADATA: Final = re.compile(r"(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})(?:-IV(0|[1-9]\d{0,3}))?")
_BEGINNING: Final = re.compile(r"(?:0|[1-9]\d{0,3})(?:\.(?:0|[1-9]\d{0,3})){0,2}")
_COMPARISON: Final = re.compile(r"\s*(<=|>=|==|<|>)?\s*(\S+)\s*")
_LAST: Final = 1 << 30
"""Stands for the last metadata version of a release."""

_HOLDS: Final[Mapping[str, Callable[[Parts, Parts], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}

FIRST: Final[Parts] = (1, 0, 0)
"""The first release whose clients, logs and ZooKeeper nodes the harness speaks."""
OLD_JAVA: Final = "11.0.9"
"""For releases that need it (:func:`needs_old_java`)."""
FIRST_KRAFT: Final[Parts] = (3, 3, 0)
"""The first release whose KRaft mode is meant for production."""
FIRST_WITHOUT_ZOOKEEPER: Final[Parts] = (4, 0, 0)
LOGS_BY_SLF4J: Final[Parts] = (1, 1, 0)
"""The first release that brings the API of SLF4J along and nothing behind it; earlier ones have Log4j 1."""


@dataclass(frozen=True, slots=True)
class Tested:
    """A release that was run with Highwater. ``metadata_version``: what its new clusters begin with in KRaft mode."""

    modes: tuple[Mode, ...]
    metadata_version: str | None = None


TESTED: Final[dict[str, Tested]] = {
    "1.0.2": Tested(("zookeeper",)),
    "1.1.1": Tested(("zookeeper",)),
    "2.0.1": Tested(("zookeeper",)),
    "2.8.2": Tested(("zookeeper",)),
    "3.3.2": Tested(("kraft",), "3.3-IV3"),
    "3.4.1": Tested(("kraft", "zookeeper"), "3.4-IV0"),
    "3.5.2": Tested(("kraft",), "3.5-IV2"),
    "3.6.2": Tested(("kraft",), "3.6-IV2"),
    "3.9.2": Tested(("kraft", "zookeeper"), "3.9-IV0"),
    "4.0.2": Tested(("kraft",), "4.0-IV3"),
    "4.3.1": Tested(("kraft",), "4.3-IV0"),
    "4.4.0": Tested(("kraft",), "4.4-IV2"),
}
"""By release, oldest first."""


def newest(mode: Mode) -> str:
    """The newest release that was tested in a mode: what runs if a file names none."""
    return next(release for release, tested in reversed(TESTED.items()) if mode in tested.modes)


def release_parts(text: str) -> Parts:
    """``3.4.1`` → (3, 4, 1). Raises ``ValueError``: no release."""
    if (match := _RELEASE.fullmatch(text)) is None:
        raise ValueError(f"expected a release of Apache Kafka such as 3.4.1; found {text!r}")
    return tuple(map(int, match.groups()))


def metadata_parts(text: str) -> Parts:
    """``3.4-IV0`` → (3, 4, 0); ``3.4``: the last one of 3.4. Raises ``ValueError``: no metadata version."""
    if (match := _METADATA.fullmatch(text)) is None:
        raise ValueError(f"expected a metadata.version such as 3.4-IV0; found {text!r}")
    major, minor, number = match.groups()
    return int(major), int(minor), _LAST if number is None else int(number)


def default_metadata_version(release: str) -> str | None:
    """What new clusters of a release begin with; None: not known."""
    tested = TESTED.get(release)
    return None if tested is None else tested.metadata_version


def needs_old_java(release: Parts) -> bool:
    """Whether a release needs Java 13 or older: on later ones ZooKeeper's clients 3.4.11 to 3.4.14 resolve no name."""
    return (2, 0, 0) <= release < (2, 4, 0)


def why_not_in_pods(release: str, mode: Mode) -> str | None:
    """Return why a release does not run on Kubernetes; None: it does."""
    try:
        parts = release_parts(release)
    except ValueError as error:
        return f"version: {error}"
    if mode == "kraft":
        if parts < FIRST_KRAFT:
            return f"apache-kafka runs on Kubernetes in mode kraft from 3.3.0 on; found version {release}"
        return None
    if not LOGS_BY_SLF4J <= parts < FIRST_WITHOUT_ZOOKEEPER:
        return f"apache-kafka runs on Kubernetes in mode zookeeper from 1.1.0 to 3.9.x; found version {release}"
    if needs_old_java(parts):
        return f"apache-kafka from 2.0.0 to 2.3.x needs Java {OLD_JAVA}, which no image has; found version {release}"
    return None


def condition_problem(text: str, parts: Callable[[str], Parts]) -> str | None:
    """Why ``text`` is no condition on what ``parts`` reads, or None."""
    try:
        _comparisons(text, parts)
    except ValueError as error:
        return str(error)
    return None


def meets(value: str, condition: str, parts: Callable[[str], Parts]) -> bool:
    """Whether a release or metadata version meets a condition. Raises ``ValueError``: one of them cannot be read."""
    found = parts(value)
    return all(_HOLDS[sign](found[: len(bound)], bound) for sign, bound in _comparisons(condition, parts))


def _comparisons(text: str, parts: Callable[[str], Parts]) -> list[tuple[str, Parts]]:
    comparisons = []
    for one in text.split(","):
        match = _COMPARISON.fullmatch(one)
        if match is None:
            raise ValueError(
                f"expected comparisons such as <3.5 or >=3.3,<3.5 (with <, <=, >, >=, == or none); found {text!r}"
            )
        sign, version = match.groups()
        comparisons.append((sign or "==", _bound(version, parts)))
    return comparisons


def _bound(text: str, parts: Callable[[str], Parts]) -> Parts:
    """A version, or the beginning of one."""
    if _BEGINNING.fullmatch(text) is not None:
        beginning = tuple(map(int, text.split(".")))
        return beginning if len(beginning) < 3 else parts(text)
    return parts(text)
